// Memory of a device, shared by the tensors that look into it.
#pragma once
#include <cstddef>
#include <functional>

#include "hone/base/ref.h"

namespace hone {

class Device;

/// A block of device memory with a reference count. Created by Device::allocate (the header lies before the data in the
/// same block) or by Buffer::borrow around memory of the caller.
class Buffer : public RefCounted<Buffer> {
 public:
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device& device() const { return *device_; }
  bool borrowed() const { return borrowed_; }

  /// Wraps the caller's memory without copy; `deleter` (may be empty) runs when the last tensor lets go.
  static Ref<Buffer> borrow(Device& device, void* data, size_t bytes, std::function<void()> deleter);
  /// Points a borrowed buffer elsewhere: a plan's tensors see the memory of the running call.
  void rebind(void* data) { data_ = static_cast<std::byte*>(data); }

 private:
  friend class Device;
  friend class RefCounted<Buffer>;
  friend class CpuDevice;
  Buffer(Device& device, void* data, size_t bytes)
      : device_(&device), data_(static_cast<std::byte*>(data)), bytes_(bytes) {}
  static void destroy(Buffer* buffer);

  Device* device_;
  std::byte* data_;
  size_t bytes_;
  bool borrowed_ = false;
};

}  // namespace hone

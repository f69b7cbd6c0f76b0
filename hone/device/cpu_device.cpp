#include <atomic>
#include <cstring>
#include <new>

#include "hone/base/error.h"
#include "hone/base/parallel.h"
#include "hone/base/probe.h"
#include "hone/base/settings.h"
#include "hone/device/block_cache.h"
#include "hone/device/device.h"

namespace hone {
namespace {

constexpr size_t kHeader = 64;  // the Buffer object, before the data in the same block
static_assert(sizeof(Buffer) <= kHeader);
constexpr size_t kAddressSpace = size_t{1} << 48;  // more than any process of x86-64 or aarch64 may map

std::string megabytes(size_t bytes) { return std::to_string(bytes / 1048576) + " MiB"; }

}  // namespace

class CpuDevice final : public Device {
 public:
  std::string name() const override { return "cpu"; }

  Ref<Buffer> allocate(size_t bytes) override {
    if (bytes > kAddressSpace)
      throw Error(Code::kResourceExhausted,
                  "a tensor of " + std::to_string(bytes) + " bytes exceeds the address space");
    const int size_class = block_cache::class_of(bytes + kHeader);
    void* block = block_cache::take(size_class);
    if (!block) block = from_system(size_class, bytes);
    const size_t in_use = in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    allocations_.fetch_add(1, std::memory_order_relaxed);
    for (size_t peak = peak_.load(std::memory_order_relaxed);
         in_use > peak && !peak_.compare_exchange_weak(peak, in_use);) {
    }
    if (probe::on()) probe::sink.load()->allocation(static_cast<int64_t>(bytes), in_use);
    return Ref(new (block) Buffer(*this, static_cast<std::byte*>(block) + kHeader, bytes));
  }

  void deallocate(Buffer* buffer) override {
    const size_t bytes = buffer->bytes();
    buffer->~Buffer();
    const size_t in_use = in_use_.fetch_sub(bytes, std::memory_order_relaxed) - bytes;
    if (probe::on()) probe::sink.load()->allocation(-static_cast<int64_t>(bytes), in_use);
    block_cache::give(buffer, block_cache::class_of(bytes + kHeader));
  }

  void copy_from_host(Buffer& to, size_t offset, const void* from, size_t bytes) override {
    if (bytes) std::memcpy(to.data() + offset, from, bytes);
  }
  void copy_to_host(void* to, const Buffer& from, size_t offset, size_t bytes) override {
    if (bytes) std::memcpy(to, from.data() + offset, bytes);
  }
  void launch(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) override {
    parallel_for(n, grain, body);
  }
  void wait() override {}

  MemoryStats memory_stats() const override {
    return {in_use_.load(), peak_.load(), block_cache::cached_bytes(), allocations_.load(), system_calls_.load()};
  }
  void reset_peak() override { peak_.store(in_use_.load()); }
  void empty_cache() override { block_cache::release(); }

 private:
  void* from_system(int size_class, size_t bytes) {
    const size_t limit = settings.memory_limit;
    const auto over = [&] { return limit && in_use_.load() + block_cache::cached_bytes() + bytes > limit; };
    if (over()) block_cache::release();
    void* block = over() ? nullptr : block_cache::fresh(size_class);
    if (!block && !over()) {
      block_cache::release();
      block = block_cache::fresh(size_class);
    }
    if (!block) {
      throw Error(Code::kResourceExhausted,
                  {.what = "out of memory: a tensor of " + megabytes(bytes) + " does not fit",
                   .details = {"in use: " + megabytes(in_use_.load()) + ", peak: " + megabytes(peak_.load()) +
                               (limit ? ", limit: " + megabytes(limit) : "")},
                   .fix = limit ? "raise settings.memory_limit, or use a smaller batch" : "use a smaller batch"});
    }
    system_calls_.fetch_add(1, std::memory_order_relaxed);
    return block;
  }

  std::atomic<size_t> in_use_{0}, peak_{0}, allocations_{0}, system_calls_{0};
};

namespace {

// A buffer around the caller's memory: allocated as a pool object with its deleter.
struct Borrowed {
  std::function<void()> deleter;
};

}  // namespace

Device& cpu() {
  static auto* device = new CpuDevice;  // never destroyed: tensors of static storage outlive any order
  return *device;
}

Ref<Buffer> Buffer::borrow(Device& device, void* data, size_t bytes, std::function<void()> deleter) {
  constexpr size_t kBytes = sizeof(Buffer) + sizeof(Borrowed);
  void* block = pool_allocate(kBytes);
  auto* buffer = new (block) Buffer(device, data, bytes);
  new (buffer + 1) Borrowed{std::move(deleter)};
  buffer->borrowed_ = true;
  return Ref(buffer);
}

void Buffer::destroy(Buffer* buffer) {
  if (!buffer->borrowed_) return buffer->device_->deallocate(buffer);
  auto* extra = std::launder(reinterpret_cast<Borrowed*>(buffer + 1));
  if (extra->deleter) extra->deleter();
  extra->~Borrowed();
  buffer->~Buffer();
  pool_free(buffer, sizeof(Buffer) + sizeof(Borrowed));
}

void* pool_allocate(size_t bytes) {
  const int size_class = block_cache::class_of(bytes);
  void* block = block_cache::take(size_class);
  if (!block) block = block_cache::fresh(size_class);
  if (!block) throw Error(Code::kResourceExhausted, "out of memory: an object of " + std::to_string(bytes) + " bytes");
  return block;
}

void pool_free(void* block, size_t bytes) noexcept { block_cache::give(block, block_cache::class_of(bytes)); }

}  // namespace hone

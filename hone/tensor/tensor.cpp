#include "hone/tensor/tensor.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <cstring>

#include "hone/base/error.h"
#include "hone/device/device.h"
#include "hone/tensor/half.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

// Ids are taken in blocks so that threads do not share a cache line for each op.
uint64_t next_id() {
  constexpr uint64_t kBlock = 1024;
  static std::atomic<uint64_t> blocks{0};
  thread_local uint64_t next = 0, end = 0;
  if (next == end) {
    next = blocks.fetch_add(1, std::memory_order_relaxed) * kBlock + 1;
    end = next + kBlock;
  }
  return next++;
}

template <class Impl = TensorImpl>
Ref<TensorImpl> make_impl(const TensorType& type, Ref<Buffer> buffer, size_t offset) {
  auto* impl = new (pool_allocate(sizeof(Impl))) Impl;
  impl->type = type;
  impl->buffer = std::move(buffer);
  impl->offset = offset;
  impl->id = next_id();
  return Ref<TensorImpl>(impl);
}

void copy_strided(std::byte*& to, const std::byte* from, const Shape& shape, const Ints& strides, int axis,
                  size_t item) {
  if (shape.empty()) {
    std::memcpy(to, from, item);
    return;
  }
  const int64_t n = shape[axis].number(), step = strides[axis] * static_cast<int64_t>(item);
  if (axis + 1 < shape.rank()) {
    for (int64_t i = 0; i < n; ++i) copy_strided(to, from + i * step, shape, strides, axis + 1, item);
    return;
  }
  if (step == static_cast<int64_t>(item)) {
    std::memcpy(to, from, static_cast<size_t>(n) * item);
  } else {
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * static_cast<int64_t>(item), from + i * step, item);
  }
  to += static_cast<size_t>(n) * item;
}

}  // namespace

size_t checked_bytes(const TensorType& type, Location location) {
  auto bytes = static_cast<__int128>(size_of(type.dtype));
  bool fits = true;
  bool empty = false;
  for (Dim d : type.shape) {
    fits = fits && d.number() >= 0;
    empty = empty || d.number() == 0;
  }
  if (empty) bytes = 0;
  for (Dim d : type.shape) {
    if (!fits) break;
    bytes *= d.number();
    fits = bytes <= INT64_MAX / 4;
  }
  if (!fits) {
    throw Error(Code::kInvalidArgument, {.what = "a tensor of " + to_string(type) + " cannot be made",
                                         .location = location,
                                         .details = {"extents must be >= 0 and their product must fit in memory"},
                                         .fix = "check the shape"});
  }
  return static_cast<size_t>(bytes);
}

void TensorImpl::destroy(TensorImpl* impl) {
  if (!impl->buffer && impl->offset == 0) {  // a donated one has the number of its line there
    auto* const traced = static_cast<TracedImpl*>(impl);
    traced->~TracedImpl();
    return pool_free(traced, sizeof(TracedImpl));
  }
  impl->~TensorImpl();
  pool_free(impl, sizeof(TensorImpl));
}

Tensor Tensor::traced(const TensorType& type, const Interpreter& owner, Location made,
                      std::shared_ptr<const void> held) {
  Tensor out(make_impl<TracedImpl>(type, {}, 0));
  auto* const impl = static_cast<TracedImpl*>(out.impl());
  impl->owner = owner.identity();
  impl->made = made;
  impl->held = std::move(held);
  return out;
}

namespace {
constexpr size_t kPending = SIZE_MAX;  // where a donated value has the number of its line
constinit std::atomic<Tensor::Settler> settler{nullptr};
}  // namespace

Tensor Tensor::pending(const TensorType& type) { return Tensor(make_impl(type, {}, kPending)); }

void Tensor::fulfil(const Tensor& elements) const {
  impl_->offset = elements.impl_->offset;
  impl_->buffer.publish(elements.impl_->buffer);
}

void Tensor::set_settler(Settler s) { settler.store(s, std::memory_order_release); }

bool Tensor::settle() const {
  const Settler compute = settler.load(std::memory_order_acquire);
  if (!compute) return false;
  compute(*impl_);
  return impl_->buffer.acquire() != nullptr;
}

Tensor Tensor::empty(const TensorType& type, Location location) {
  return Tensor(make_impl(type, cpu().allocate(checked_bytes(type, location)), 0));
}

Tensor Tensor::copy_in(const void* data, size_t count, const TensorType& type, Location location) {
  Tensor out = empty(type, location);
  if (static_cast<size_t>(out.size()) != count) {
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("{} values do not fill a tensor of {}", count, to_string(type)),
                 .location = location,
                 .details = {fmt::format("expected: {} values, got: {}", out.size(), count)},
                 .fix = "pass a shape whose extents multiply to the number of values"});
  }
  if (count) std::memcpy(out.mutable_bytes(), data, out.bytes());
  return out;
}

Tensor Tensor::borrow(const void* data, const Shape& shape, DType dtype, BorrowOptions options, Location location) {
  if (checked_bytes({dtype, shape}, location) > 0 && !data) {
    throw Error(Code::kInvalidArgument, {.what = "borrow of a null pointer for " + to_string(TensorType{dtype, shape}),
                                         .location = location,
                                         .fix = "pass the address of the elements"});
  }
  Ints strides(static_cast<size_t>(shape.rank()), 1);
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i].number();
  }
  // Rows are the axis above the pixel axes: [h, w], [h, w, c] or [n, h, w, c].
  const int row_axis = shape.rank() >= 3 ? shape.rank() - 3 : shape.rank() - 2;
  const size_t dense_row = row_axis >= 0 ? static_cast<size_t>(strides[row_axis]) * size_of(dtype) : 0;
  const bool padded = options.row_bytes != 0 && options.row_bytes != dense_row;
  if (padded) {
    if (row_axis < 0 || options.row_bytes < dense_row || options.row_bytes % size_of(dtype) != 0) {
      throw Error(Code::kInvalidArgument,
                  {.what = fmt::format("row_bytes = {} does not fit rows of {}", options.row_bytes,
                                       to_string(TensorType{dtype, shape})),
                   .location = location,
                   .details = {fmt::format("a row has {} bytes; row_bytes must be at least that and a multiple of {}",
                                           dense_row, size_of(dtype))},
                   .fix = "pass the pitch of the image in bytes"});
    }
    strides[row_axis] = static_cast<int64_t>(options.row_bytes / size_of(dtype));
    for (int i = row_axis - 1; i >= 0; --i) strides[i] = strides[i + 1] * shape[i + 1].number();
  }
  const int64_t span = shape.rank() ? (padded ? strides[0] * shape[0].number() : step) : 1;
  auto buffer = Buffer::borrow(cpu(), const_cast<void*>(data), static_cast<size_t>(span) * size_of(dtype),
                               std::move(options.deleter));
  Tensor out(make_impl({dtype, shape}, std::move(buffer), 0));
  if (padded) out.impl_->layout = {false, strides};
  return out;
}

Tensor Tensor::alias(const TensorType& type, size_t offset) const {
  return Tensor(make_impl(type, impl_->buffer, impl_->offset + offset));
}

Tensor Tensor::alias(const TensorType& type, const Ints& strides) const {
  Tensor out(make_impl(type, impl_->buffer, impl_->offset));
  out.impl_->layout = {false, strides};
  return out;
}

Tensor Tensor::dense() const {
  if (impl_->layout.dense) return *this;
  if (Buffer* copy = impl_->packed.load(std::memory_order_acquire)) return Tensor(make_impl(type(), Ref(copy), 0));
  Tensor out = empty(type());
  copy_to(out.mutable_bytes());
  return out;
}

void Tensor::copy_to(std::byte* to) const {
  if (size() == 0) return;
  if (!concrete()) [[unlikely]]
    fail_traced(*this, {});
  if (impl_->layout.dense) {
    std::memcpy(to, bytes_at_offset(), bytes());
  } else {
    copy_strided(to, bytes_at_offset(), shape(), impl_->layout.strides, 0, size_of(dtype()));
  }
}

// The copy lives as long as the tensor, so that pointers into it do. Layout and buffer stay as they are: other threads
// may be reading them.
const Buffer& Tensor::packed() const {
  Buffer* copy = impl_->packed.load(std::memory_order_acquire);
  if (copy) return *copy;
  const Tensor made = dense();
  Buffer* mine = made.impl_->buffer.get();
  mine->retain();
  if (impl_->packed.compare_exchange_strong(copy, mine, std::memory_order_acq_rel)) return *mine;
  mine->release();  // another thread was first
  return *copy;
}

const void* Tensor::raw(Location location) const {
  if (!concrete()) [[unlikely]]
    fail_traced(*this, location);
  return impl_->layout.dense ? bytes_at_offset() : packed().data();
}

void Tensor::check_dtype(DType wanted, Location location) const {
  if (!defined())
    throw Error(Code::kFailedPrecondition, {.what = "reading a tensor that was never set", .location = location});
  if (wanted == dtype()) return;
  throw Error(Code::kInvalidArgument,
              {.what = fmt::format("a tensor of {} read as {}", to_string(type()), name(wanted)),
               .location = location,
               .fix = fmt::format("read it as {} or convert it first: cast(x, {})", name(dtype()), name(wanted))});
}

double Tensor::scalar(Location location) const {
  if (!defined())
    throw Error(Code::kFailedPrecondition, {.what = "reading a tensor that was never set", .location = location});
  if (size() != 1) {
    throw Error(Code::kInvalidArgument, {.what = "item() of a tensor with several elements",
                                         .location = location,
                                         .details = {"x: " + to_string(type())},
                                         .fix = "reduce it first, or use to_vector()"});
  }
  const void* at = raw(location);
  return visit_dtype(dtype(), [at](auto kind) -> double { return to_double(*static_cast<const decltype(kind)*>(at)); });
}

int64_t Tensor::scalar_integer(int64_t min, uint64_t max, Location location) const {
  const double value = scalar(location);
  if (!is_floating(dtype())) {  // integers wrap, as in cast()
    const void* at = raw();
    return visit_dtype(dtype(), [at](auto kind) -> int64_t {
      using T = decltype(kind);
      if constexpr (std::is_integral_v<T>)
        return static_cast<int64_t>(*static_cast<const T*>(at));
      else
        return 0;
    });
  }
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(min)) return min;
  if (value >= static_cast<double>(max)) return static_cast<int64_t>(max);
  return value < 0 ? static_cast<int64_t>(value) : static_cast<int64_t>(static_cast<uint64_t>(value));
}

}  // namespace hone

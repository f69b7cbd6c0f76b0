// Tensor: a handle to a dense array (or, in a trace, to a value that is not computed yet).
#pragma once
#include <atomic>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "hone/base/location.h"
#include "hone/base/ref.h"
#include "hone/device/buffer.h"
#include "hone/tensor/shape.h"

namespace hone {

class Tensor;
class Index;
class Mask;
class Interpreter;

/// How elements lie in the buffer. Dense row-major, but for two cases that never leave Hone's own hands: a broadcast
/// (stride 0) and a borrowed image with padded rows. Ops that cannot read strides get a packed copy.
struct Layout {
  bool dense = true;
  Ints strides;  ///< in elements, one per axis; only if !dense
};

/// Bytes of a dense tensor of static shape. Error kInvalidArgument where an extent is negative or the address space too
/// small.
size_t checked_bytes(const TensorType& type, Location location);

/// What a handle points to. Allocated from the pool, shared by copies of the handle.
struct TensorImpl : RefCounted<TensorImpl> {
  TensorType type;
  Ref<Buffer> buffer;  ///< null in a TracedImpl, once donated, or while pending
  size_t offset = 0;   ///< bytes into the buffer
  uint64_t id = 0;     ///< unique over the process
  Layout layout;
  std::atomic<Buffer*> packed{nullptr};  ///< a dense copy, made when the host first reads what is not dense; owned

  TensorImpl() = default;
  TensorImpl(const TensorImpl&) = delete;
  TensorImpl& operator=(const TensorImpl&) = delete;
  ~TensorImpl() {
    if (const Buffer* copy = packed.load(std::memory_order_acquire)) copy->release();
  }
  static void destroy(TensorImpl* impl);
};

/// A value that has a type but no elements (yet): a recorder or vmap made it and knows it by its id.
struct TracedImpl final : TensorImpl {
  uint64_t owner = 0;  ///< Interpreter::identity() of who made it; it may be gone
  Location made;
  std::shared_ptr<const void> held;  ///< what the owner keeps with the value
};

struct BorrowOptions {
  size_t row_bytes = 0;  ///< distance between rows (the last two axes, or three for a channel axis); 0 = dense
  std::function<void()> deleter{};  ///< runs when the last tensor lets go
};

/// A reference to an n-dimensional array: copying a Tensor copies the handle. Elements never change once an op has made
/// them. Thread-safe to read and copy from several threads.
class Tensor {
 public:
  /// No tensor; defined() is false.
  Tensor() = default;
  /// Scalars (rank 0): f32 from float, f64 from double, i32, i64, bool.
  template <class T>
    requires std::is_arithmetic_v<T>
  explicit Tensor(T value) : Tensor(from(std::span<const T>(&value, 1), Shape{})) {}

  /// A copy of `values`, row-major. Error kInvalidArgument if their number is not the shape's.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape, Location location = Location::current()) {
    return copy_in(values.data(), values.size(), {dtype_of<T>(), shape}, location);
  }
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape, Location location = Location::current()) {
    if constexpr (std::is_same_v<T, bool>) {
      const std::vector<unsigned char> bytes(values.begin(), values.end());
      return copy_in(bytes.data(), bytes.size(), {bool_, shape}, location);
    } else {
      return from(std::span<const T>(values), shape, location);
    }
  }
  /// A vector of the values: Tensor::of<float>({1, 2, 3}).
  template <class T>
  static Tensor of(std::initializer_list<T> values, Location location = Location::current()) {
    return from(std::span<const T>(values.begin(), values.size()), Shape{static_cast<int64_t>(values.size())},
                location);
  }
  /// Uninitialised memory of cpu(). Error kInvalidArgument for a symbolic or overflowing shape.
  static Tensor empty(const TensorType& type, Location location = Location::current());
  /// The caller's memory without copy. The memory must stay valid and unchanged until the deleter runs. Error
  /// kInvalidArgument for rows that do not fit, a negative extent, or no memory; the deleter does not run then.
  static Tensor borrow(const void* data, const Shape& shape, DType dtype, BorrowOptions options = {},
                       Location location = Location::current());

  /// A value without elements, of the interpreter that knows its id; `made` is the user's line.
  static Tensor traced(const TensorType& type, const Interpreter& owner, Location made,
                       std::shared_ptr<const void> held = {});

  /// A value that is computed when its elements are asked for, by the settler (auto-JIT): it has no buffer until then.
  static Tensor pending(const TensorType& type);
  /// Gives a pending value its elements; its handles may be in use in other threads. `elements`: dense.
  void fulfil(const Tensor& elements) const;
  /// Computes `impl` if it is pending. Called for each value without a buffer once it is installed, by any thread.
  using Settler = void (*)(const TensorImpl& impl);
  static void set_settler(Settler settler);

  bool defined() const { return static_cast<bool>(impl_); }
  /// False for what stands for a value inside a traced function or under vmap: its elements cannot be read.
  bool concrete() const { return impl_->buffer.acquire() != nullptr || settle(); }
  const TensorType& type() const { return impl_->type; }
  DType dtype() const { return impl_->type.dtype; }
  const Shape& shape() const { return impl_->type.shape; }
  int rank() const { return impl_->type.shape.rank(); }
  /// Extent of an axis (negative from the end). Error kOutOfRange.
  int64_t dim(int axis) const { return shape().dim(axis).number(); }
  /// Number of elements.
  int64_t size() const { return impl_->type.shape.count(); }
  size_t bytes() const { return static_cast<size_t>(size()) * size_of(dtype()); }
  uint64_t id() const { return impl_->id; }
  const Layout& layout() const { return impl_->layout; }

  /// Elements in row-major order (a broadcast or padded tensor is packed first). Error kInvalidArgument for another
  /// dtype.
  template <class T>
  std::span<const T> data(Location location = Location::current()) const {
    check_dtype(dtype_of<T>(), location);
    return {static_cast<const T*>(raw(location)), static_cast<size_t>(size())};
  }
  template <class T>
  std::vector<T> to_vector(Location location = Location::current()) const {
    const std::span<const T> values = data<T>(location);
    return std::vector<T>(values.begin(), values.end());
  }
  /// The only element, converted as cast() does: floats to integers saturate, NaN gives 0. Error kInvalidArgument for
  /// several.
  template <class T>
  T item(Location location = Location::current()) const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return static_cast<T>(scalar_integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), location));
    else
      return static_cast<T>(scalar(location));
  }
  /// Bytes of the elements, packed. Error kFailedPrecondition for a value inside a traced function or under vmap, as
  /// from all that reads elements.
  const void* raw(Location location = Location::current()) const;
  /// Copies the elements, packed, to memory that does not overlap them.
  void copy_to(std::byte* to) const;
  /// This tensor if it is dense, else a packed copy.
  Tensor dense() const;

  /// NumPy's basic indexing: x[2], x[{0, slice(1, -1), ellipsis}]; a bool tensor selects the elements where it is true.
  Tensor operator[](const Index& index) const;
  Tensor operator[](std::initializer_list<Index> indices) const;
  Tensor operator[](const Mask& mask) const;

  TensorImpl* impl() const { return impl_.get(); }
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  /// A handle of its own to the same elements, seen as `type` (same byte size of elements) from `offset` more bytes on.
  Tensor alias(const TensorType& type, size_t offset = 0) const;
  Tensor alias(const TensorType& type, const Ints& strides) const;
  /// Writable elements of a tensor this caller just made and shares with nobody.
  std::byte* mutable_bytes() const { return impl_->buffer->data() + impl_->offset; }
  /// True if no other handle and no other tensor sees these elements.
  bool exclusive() const {
    return impl_->unique() && impl_->buffer && impl_->buffer->unique() && !impl_->buffer->borrowed() &&
           impl_->layout.dense;
  }

 private:
  bool settle() const;
  static Tensor copy_in(const void* data, size_t count, const TensorType& type, Location location);
  const std::byte* bytes_at_offset() const { return impl_->buffer->data() + impl_->offset; }
  void check_dtype(DType wanted, Location location) const;
  double scalar(Location location) const;
  int64_t scalar_integer(int64_t min, uint64_t max, Location location) const;
  const Buffer& packed() const;
  Ref<TensorImpl> impl_;
};

/// Bounds of one axis, as Python's slice: negative counts from the end, absent means all; step != 0.
struct Slice {
  std::optional<int64_t> start, stop;
  int64_t step = 1;
};
inline Slice slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {}, int64_t step = 1) {
  return {start, stop, step};
}
struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};
struct NewAxis {};
inline constexpr NewAxis newaxis{};

/// One entry of an index expression; captures the caller's line.
class Index {
 public:
  enum class Kind : uint8_t { Number, Slice, Ellipsis, NewAxis };
  template <class T>
    requires std::is_integral_v<T>
  Index(T number, Location l = Location::current())
      : kind(Kind::Number), number(static_cast<int64_t>(number)), location(l) {}                        // NOLINT
  Index(hone::Slice s, Location l = Location::current()) : kind(Kind::Slice), slice(s), location(l) {}  // NOLINT
  Index(hone::Ellipsis, Location l = Location::current()) : kind(Kind::Ellipsis), location(l) {}        // NOLINT
  Index(hone::NewAxis, Location l = Location::current()) : kind(Kind::NewAxis), location(l) {}          // NOLINT
  Kind kind;
  int64_t number = 0;
  hone::Slice slice;
  Location location;
};

/// A bool tensor as an index. Captures the caller's line.
class Mask {
 public:
  template <class T>
    requires(!std::is_arithmetic_v<T> && std::is_convertible_v<const T&, Tensor>)
  Mask(const T& mask, Location l = Location::current()) : tensor(mask), location(l) {}  // NOLINT
  Tensor tensor;
  Location location;
};

/// An argument of an op: a Tensor (anything convertible to one, as Variable), or a C++ number, which takes the other
/// operand's dtype. Captures the caller's line.
class Operand {
 public:
  Operand(const Tensor& tensor, Location l = Location::current()) : tensor(tensor), location(l) {}        // NOLINT
  Operand(Tensor&& tensor, Location l = Location::current()) : tensor(std::move(tensor)), location(l) {}  // NOLINT
  template <class T>
    requires(!std::is_arithmetic_v<T> && !std::is_same_v<T, Tensor> && std::is_convertible_v<const T&, Tensor>)
  Operand(const T& value, Location l = Location::current()) : tensor(value), location(l) {}  // NOLINT
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T value, Location l = Location::current())  // NOLINT
      : scalar(static_cast<double>(value)),
        integer(static_cast<int64_t>(value)),
        kind(std::is_same_v<T, bool> ? Bool
             : std::is_integral_v<T> ? Integer
                                     : Float),
        location(l) {}
  bool is_scalar() const { return kind != None; }

  Tensor tensor;
  double scalar = 0;
  int64_t integer = 0;
  enum Kind : uint8_t { None, Bool, Integer, Float } kind = None;
  Location location;
};

// Operators: ops/elementwise.h says what each computes; & | ^ ~ are bitwise, on bool logical.
Tensor operator+(Operand a, Operand b);
Tensor operator-(Operand a, Operand b);
Tensor operator*(Operand a, Operand b);
Tensor operator/(Operand a, Operand b);
Tensor operator%(Operand a, Operand b);
Tensor operator-(Operand x);
Tensor operator==(Operand a, Operand b);
Tensor operator!=(Operand a, Operand b);
Tensor operator<(Operand a, Operand b);
Tensor operator<=(Operand a, Operand b);
Tensor operator>(Operand a, Operand b);
Tensor operator>=(Operand a, Operand b);
Tensor operator&(Operand a, Operand b);
Tensor operator|(Operand a, Operand b);
Tensor operator^(Operand a, Operand b);
Tensor operator~(Operand x);
Tensor operator!(Operand x);

/// "f32[2,3] [[1, 2, 3], [4, 5, 6]]" over several lines as NumPy prints; long axes are shortened by "...".
std::string to_string(const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace hone

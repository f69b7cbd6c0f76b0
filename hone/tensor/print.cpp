#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "hone/tensor/half.h"
#include "hone/tensor/tensor.h"

namespace hone {
namespace {

constexpr int64_t kAll = 1000;  // tensors up to this many elements are printed whole
constexpr int64_t kEdge = 3;    // else this many at each end of an axis

std::string element(DType type, const std::byte* at) {
  return visit_dtype(type, [at](auto kind) -> std::string {
    using T = decltype(kind);
    const T& value = *reinterpret_cast<const T*>(at);
    if constexpr (std::is_same_v<T, bool>)
      return value ? "true" : "false";
    else if constexpr (std::is_integral_v<T>)
      return fmt::format("{}", static_cast<std::conditional_t<sizeof(T) == 1, int, T>>(value));
    else if constexpr (std::is_same_v<T, double>)
      return fmt::format("{:.8g}", value);
    else if constexpr (std::is_same_v<T, float>)
      return fmt::format("{:.6g}", value);
    else
      return fmt::format("{:.4g}", to_float(value));
  });
}

class Printer {
 public:
  explicit Printer(const Tensor& tensor)
      : tensor_(tensor), base_(static_cast<const std::byte*>(tensor.raw())), all_(tensor.size() <= kAll) {}

  std::string print() {
    if (tensor_.size() == 0) return "[]";
    collect(0, 0, [this](const std::string& text) { width_ = std::max(width_, text.size()); });
    std::string out;
    write(out, 0, 0);
    return out;
  }

 private:
  std::vector<int64_t> shown(int axis) const {
    const int64_t n = tensor_.dim(axis);
    std::vector<int64_t> at;
    for (int64_t i = 0; i < n; ++i) {
      if (!all_ && n > 2 * kEdge && i == kEdge) {
        at.push_back(-1);
        i = n - kEdge;
      }
      at.push_back(i);
    }
    return at;
  }
  int64_t below(int axis) const {
    int64_t n = 1;
    for (int a = axis + 1; a < tensor_.rank(); ++a) n *= tensor_.dim(a);
    return n;
  }
  std::string text(int64_t offset) const {
    return element(tensor_.dtype(), base_ + static_cast<size_t>(offset) * size_of(tensor_.dtype()));
  }

  template <class F>
  void collect(int axis, int64_t offset, const F& f) const {
    if (axis == tensor_.rank()) return f(text(offset));
    for (int64_t i : shown(axis)) {
      if (i >= 0) collect(axis + 1, offset + i * below(axis), f);
    }
  }

  void write(std::string& out, int axis, int64_t offset) const {
    if (axis == tensor_.rank()) {
      out += tensor_.rank() ? fmt::format("{:>{}}", text(offset), width_) : text(offset);
      return;
    }
    out += '[';
    bool first = true;
    for (int64_t i : shown(axis)) {
      if (!first)
        out += axis + 1 == tensor_.rank() ? ", "
                                          : "," + std::string(static_cast<size_t>(tensor_.rank() - axis - 1), '\n') +
                                                std::string(static_cast<size_t>(axis) + 1, ' ');
      first = false;
      if (i < 0)
        out += "...";
      else
        write(out, axis + 1, offset + i * below(axis));
    }
    out += ']';
  }

  const Tensor& tensor_;
  const std::byte* base_;
  bool all_;
  size_t width_ = 0;
};

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (!tensor.defined()) return "undefined tensor";
  const bool lines = tensor.rank() > 1 && tensor.size() > 0;
  return to_string(tensor.type()) + (lines ? "\n" : " ") + Printer(tensor).print();
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor); }

}  // namespace hone

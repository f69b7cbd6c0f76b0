#include "hone/ir/text_literal.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "hone/tensor/half.h"

namespace hone::ir::text {
namespace {

constexpr int64_t kListed = 256;  // elements of a list; more are written as bytes

template <class T>
void put(std::byte* out, T value) {
  std::memcpy(out, &value, sizeof value);
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool parse_bits(std::string_view digits, size_t size, std::byte* out) {
  uint64_t bits = 0;
  if (digits.empty() || digits.size() > 2 * size) return false;
  for (const char c : digits) bits = bits << 4 | static_cast<uint64_t>(digit(c));
  std::memcpy(out, &bits, size);
  return true;
}

template <class T>
bool parse_integer(std::string_view text, std::byte* out) {
  T value = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc() && result.ptr == text.data() + text.size()) {
    put(out, value);
    return true;
  }
  if constexpr (std::is_signed_v<T>) return false;
  std::make_signed_t<T> negative = 0;  // MLIR prints unsigned elements of some tools with a sign
  result = std::from_chars(text.data(), text.data() + text.size(), negative);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return false;
  put(out, static_cast<T>(negative));
  return true;
}

template <class T>
bool parse_float(std::string_view text, T& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ptr != text.data() + text.size()) return false;
  if (result.ec == std::errc::result_out_of_range) {
    const double wide = std::strtod(std::string(text).c_str(), nullptr);  // to 0 or infinity, as the nearest number is
    value = static_cast<T>(wide);
    return true;
  }
  return result.ec == std::errc();
}

template <class T>
std::string shortest(T value) {
  std::array<char, 64> text{};
  auto result = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
  return {text.data(), result.ptr};
}

// MLIR wants a point in a float: 1e+00 is none.
std::string with_point(std::string text) {
  if (text.find('.') != std::string::npos) return text;
  const size_t exponent = text.find('e');
  return exponent == std::string::npos ? text + ".0" : text.insert(exponent, ".0");
}

template <class T>
std::string float_text(T value, uint64_t bits, size_t size) {
  if (!std::isfinite(value)) return fmt::format("0x{:0{}X}", bits, 2 * size);
  return with_point(shortest(value));
}

void print_nested(const std::byte*& at, const Shape& shape, size_t axis, DType dtype, std::string& out) {
  if (axis == shape.size()) {
    out += print_element(at, dtype);
    at += size_of(dtype);
    return;
  }
  out += '[';
  for (int64_t i = 0; i < shape[axis].number(); ++i) {
    if (i) out += ", ";
    print_nested(at, shape, axis + 1, dtype, out);
  }
  out += ']';
}

}  // namespace

bool parse_element(std::string_view text, DType dtype, std::byte* out) {
  const size_t size = size_of(dtype);
  if (text == "true" || text == "false") {
    if (dtype != bool_) return false;
    put(out, static_cast<uint8_t>(text == "true"));
    return true;
  }
  if (text.starts_with("0x")) {
    if (!parse_bits(text.substr(2), size, out)) return false;
    if (dtype == bool_) out[0] = static_cast<std::byte>(out[0] != std::byte{0});
    return true;
  }
  return visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      put(out, static_cast<uint8_t>(text != "0"));
      return text == "0" || text == "1" || text == "-1";
    } else if constexpr (std::is_integral_v<T>) {
      return parse_integer<T>(text, out);
    } else if constexpr (std::is_same_v<T, double>) {
      double value = 0;
      if (!parse_float(text, value)) return false;
      put(out, value);
      return true;
    } else {
      float value = 0;
      if (!parse_float(text, value)) return false;
      if constexpr (std::is_same_v<T, Float16>)
        put(out, to_float16(value));
      else if constexpr (std::is_same_v<T, BFloat16>)
        put(out, to_bfloat16(value));
      else
        put(out, value);
      return true;
    }
  });
}

std::string print_element(const std::byte* element, DType dtype) {
  return visit_dtype(dtype, [&](auto zero) -> std::string {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      return element[0] == std::byte{0} ? "false" : "true";
    } else {
      T value;
      std::memcpy(&value, element, sizeof value);
      if constexpr (std::is_integral_v<T>) {
        return std::to_string(value);
      } else {
        uint64_t bits = 0;
        std::memcpy(&bits, element, sizeof value);
        if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>)
          return float_text(value, bits, sizeof value);
        else
          return float_text(to_float(value), bits, sizeof value);
      }
    }
  });
}

std::string print_elements(const Tensor& tensor) {
  const auto* at = static_cast<const std::byte*>(tensor.raw());
  const int64_t count = tensor.size();
  if (count == 0) return "dense<>";
  if (count <= kListed || tensor.dtype() == bool_) {
    std::string out = "dense<";
    print_nested(at, tensor.shape(), 0, tensor.dtype(), out);
    return out + ">";
  }
  std::string out = "dense<\"0x";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    const auto byte = static_cast<size_t>(at[i]);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out + "\">";
}

bool parse_bytes(std::string_view digits, const TensorType& type, Tensor& out, bool& splat) {
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int high = digit(digits[i]), low = digit(digits[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes += static_cast<char>(high * 16 + low);
  }
  if (digits.size() % 2 != 0) return false;
  const auto count = static_cast<size_t>(type.shape.count());
  const size_t size = size_of(type.dtype);
  if (type.dtype == bool_ && bytes.size() == (count + 7) / 8 && bytes.size() != count) {  // MLIR packs i1
    std::string packed(count, '\0');
    for (size_t i = 0; i < count; ++i) packed[i] = static_cast<char>(bytes[i / 8] >> (i % 8) & 1);
    bytes = std::move(packed);
  }
  splat = bytes.size() == size && count != 1;
  if (!splat && bytes.size() != count * size) return false;
  if (type.dtype == bool_) {
    for (char& byte : bytes) byte = static_cast<char>(byte != 0);
  }
  out = Tensor::empty(splat ? TensorType{type.dtype, {}} : type);
  std::memcpy(out.mutable_bytes(), bytes.data(), bytes.size());
  return true;
}

namespace {

// A dimension as to_string(Dim) prints it.
class DimReader {
 public:
  explicit DimReader(std::string_view text) : rest_(text) {}
  bool shape(Shape& out) {
    if (!accept('[')) return false;
    if (accept(']')) return rest_.empty();
    do {
      Dim dim;
      if (out.size() == kMaxRank || !sum(dim, 0)) return false;
      out.push_back(dim);
    } while (accept(','));
    return accept(']') && rest_.empty();
  }

 private:
  static constexpr int kMaxDepth = 50;
  void skip() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }
  bool accept(char c) {
    skip();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool sum(Dim& out, int depth) {
    out = 0;
    bool minus = accept('-');
    do {
      Dim term;
      if (!product(term, depth)) return false;
      out = minus ? out - term : out + term;
      minus = accept('-');
    } while (minus || accept('+'));
    return true;
  }
  bool product(Dim& out, int depth) {
    out = 1;
    do {
      Dim factor;
      if (!atom(factor, depth)) return false;
      out = out * factor;
    } while (accept('*'));
    return true;
  }
  bool atom(Dim& out, int depth) {
    skip();
    size_t length = 0;
    while (length < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[length])) || rest_[length] == '_' || rest_[length] == '.'))
      ++length;
    const std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (word.empty() || depth > kMaxDepth) return false;
    if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      int64_t number = 0;
      const auto result = std::from_chars(word.data(), word.data() + word.size(), number);
      out = number;
      return result.ec == std::errc() && result.ptr == word.data() + word.size();
    }
    if (!accept('(')) return find_symbol(word, out);
    Dim a, b;
    if (!sum(a, depth + 1) || !accept(',') || !sum(b, depth + 1) || !accept(')')) return false;
    if (word == "floor_div" && b.min() > 0)
      out = floor_div(a, b);
    else if (word == "max")
      out = max(a, b);
    else if (word == "min")
      out = min(a, b);
    else
      return false;
    return true;
  }
  std::string_view rest_;
};

}  // namespace

bool parse_shape(std::string_view source, Shape& shape) {
  shape.clear();
  return DimReader(source).shape(shape);
}

}  // namespace hone::ir::text

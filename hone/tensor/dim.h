// One extent of a shape: a number, or a symbolic expression over named dimensions.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

/// A dimension >= 0 that is known, or a polynomial over symbols with integer coefficients. Eight bytes; expressions are
/// interned, so equality of the normal form is equality of the value. Thread-safe.
class Dim {
 public:
  /// Numbers below -2^62, which no extent is, become -2^62 + 1.
  constexpr Dim(int64_t number = 0) : value_(number > kSymbolBase ? number : kSymbolBase + 1) {}  // NOLINT
  /// A new symbol, or the existing one of this name; bounds are inclusive. Error kInvalidArgument if the name exists
  /// with other bounds.
  explicit Dim(std::string_view name, int64_t min = 1, int64_t max = INT64_MAX);

  constexpr bool is_number() const { return value_ > kSymbolBase; }
  /// The number; Error kFailedPrecondition for a symbol.
  int64_t number() const { return is_number() ? value_ : fail_number(); }
  /// True for a symbol itself, false for numbers and expressions; to_string gives its name.
  bool is_symbol() const;
  /// Bounds of the value over all values of its symbols.
  int64_t min() const;
  int64_t max() const;
  /// The value where each named symbol has the number `lookup(name)` gives.
  template <class F>
  int64_t evaluate(F&& lookup) const {
    return is_number() ? value_
                       : evaluate_symbol([](std::string_view n, void* f) { return (*static_cast<F*>(f))(n); }, &lookup);
  }
  /// True if both are the same for all values of the symbols.
  friend constexpr bool operator==(Dim a, Dim b) { return a.value_ == b.value_; }
  /// An identity for hashing and interning.
  constexpr int64_t key() const { return value_; }

 private:
  friend struct DimTable;
  static constexpr int64_t kSymbolBase = INT64_MIN / 2;  // below: index of an interned expression
  int64_t fail_number() const;
  int64_t evaluate_symbol(int64_t (*lookup)(std::string_view, void*), void* context) const;
  int64_t value_;
};

/// Arithmetic; folds numbers, keeps symbolic results in normal form. Error kOutOfRange where a number leaves 64 bits.
Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
/// Quotient rounded down and its remainder; b > 0.
Dim floor_div(Dim a, Dim b);
Dim mod(Dim a, Dim b);
Dim max(Dim a, Dim b);
Dim min(Dim a, Dim b);
/// The symbol of this name, if there is one.
bool find_symbol(std::string_view name, Dim& symbol);
/// "128", "batch", "2*batch + 1".
std::string to_string(Dim dim);

}  // namespace hone

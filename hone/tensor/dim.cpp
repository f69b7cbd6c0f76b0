#include "hone/tensor/dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "hone/base/error.h"

namespace hone {
namespace {

enum class Atom : uint8_t { Symbol, FloorDiv, Max, Min };

// What a monomial multiplies: a named symbol, or a non-polynomial function of two dims.
struct AtomNode {
  Atom kind;
  std::string name;
  int64_t min, max;
  Dim a, b;
};

using Monomial = std::vector<int>;               // sorted atom indices; empty = the constant
using Polynomial = std::map<Monomial, int64_t>;  // no zero coefficients

int64_t checked(__int128 value) {
  if (value > INT64_MAX / 4 || value < -(INT64_MAX / 4)) {
    throw Error(Code::kOutOfRange, "a dimension exceeds 64 bits",
                "the product of extents is too large: check the shape");
  }
  return static_cast<int64_t>(value);
}

int64_t saturate(__int128 value) {
  return value > INT64_MAX ? INT64_MAX : value < -INT64_MAX ? -INT64_MAX : static_cast<int64_t>(value);
}

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

// Process-wide, append-only: an index stays valid for ever.
struct DimTable {
  std::recursive_mutex mutex;
  std::deque<AtomNode> atoms;
  std::map<std::string, int, std::less<>> symbols;
  std::map<std::string, int> functions;
  std::deque<Polynomial> expressions;
  std::map<Polynomial, int> ids;

  static DimTable& get() {
    static auto* table = new DimTable;
    return *table;
  }

  Polynomial terms(Dim d) const {
    if (d.is_number()) return d.value_ ? Polynomial{{{}, d.value_}} : Polynomial{};
    return expressions[static_cast<size_t>(d.value_ - INT64_MIN)];
  }

  Dim make(const Polynomial& p) {
    if (p.empty()) return 0;
    if (p.size() == 1 && p.begin()->first.empty()) return p.begin()->second;
    const auto [at, added] = ids.try_emplace(p, static_cast<int>(expressions.size()));
    if (added) expressions.push_back(p);
    Dim d;
    d.value_ = INT64_MIN + at->second;
    return d;
  }

  Dim make_atom(int atom) { return make({{{atom}, 1}}); }

  Dim function(Atom kind, Dim a, Dim b, int64_t min, int64_t max) {
    if (min == max) return min;
    if (kind != Atom::FloorDiv && b.key() < a.key()) std::swap(a, b);  // one form for max(a, b) and max(b, a)
    const std::string key = fmt::format("{}:{}:{}", static_cast<int>(kind), a.key(), b.key());
    const auto [at, added] = functions.try_emplace(key, static_cast<int>(atoms.size()));
    if (added) atoms.push_back({kind, {}, min, max, a, b});
    return make_atom(at->second);
  }

  Dim add(Dim a, Dim b, int64_t sign) {
    Polynomial sum = terms(a);
    for (const auto& [monomial, coefficient] : terms(b)) {
      int64_t& total = sum[monomial];
      total = checked(static_cast<__int128>(total) + static_cast<__int128>(sign) * coefficient);
      if (total == 0) sum.erase(monomial);
    }
    return make(sum);
  }

  Dim multiply(Dim a, Dim b) {
    Polynomial product;
    for (const auto& [x, p] : terms(a)) {
      for (const auto& [y, q] : terms(b)) {
        Monomial joined;
        std::ranges::merge(x, y, std::back_inserter(joined));
        int64_t& total = product[joined];
        total = checked(total + static_cast<__int128>(p) * q);
        if (total == 0) product.erase(joined);
      }
    }
    return make(product);
  }

  // Interval arithmetic over the terms; `upper` picks the bound.
  int64_t bound(Dim d, bool upper) const {
    __int128 total = 0;
    for (const auto& [monomial, coefficient] : terms(d)) {
      __int128 low = coefficient, high = coefficient;
      for (int atom : monomial) {
        const __int128 corners[] = {low * atoms[atom].min, low * atoms[atom].max, high * atoms[atom].min,
                                    high * atoms[atom].max};
        low = saturate(*std::ranges::min_element(corners));
        high = saturate(*std::ranges::max_element(corners));
      }
      total += upper ? high : low;
    }
    return saturate(total);
  }

  int64_t evaluate(Dim d, int64_t (*lookup)(std::string_view, void*), void* context) const {
    __int128 total = 0;
    for (const auto& [monomial, coefficient] : terms(d)) {
      __int128 term = coefficient;
      for (int index : monomial) {
        const AtomNode& atom = atoms[index];
        if (atom.kind == Atom::Symbol) {
          term = checked(term * lookup(atom.name, context));
          continue;
        }
        const int64_t a = evaluate(atom.a, lookup, context), b = evaluate(atom.b, lookup, context);
        if (atom.kind == Atom::FloorDiv) term = checked(term * floor_quotient(a, b));
        if (atom.kind == Atom::Max) term = checked(term * std::max(a, b));
        if (atom.kind == Atom::Min) term = checked(term * std::min(a, b));
      }
      total = checked(total + term);
    }
    return checked(total);
  }

  std::string print(Dim d) const {
    std::string text;
    const Polynomial all = terms(d);
    std::vector<std::pair<Monomial, int64_t>> ordered(all.begin(), all.end());
    if (ordered.front().first.empty()) std::ranges::rotate(ordered, ordered.begin() + 1);  // the constant last
    for (const auto& [monomial, coefficient] : ordered) {
      std::string term;
      for (int index : monomial) {
        const AtomNode& atom = atoms[index];
        constexpr std::string_view kNames[] = {"", "floor_div", "max", "min"};
        term += (term.empty() ? "" : "*");
        term += atom.kind == Atom::Symbol ? atom.name
                                          : fmt::format("{}({}, {})", kNames[static_cast<int>(atom.kind)],
                                                        hone::to_string(atom.a), hone::to_string(atom.b));
      }
      const int64_t size = std::abs(coefficient);
      if (monomial.empty())
        term = std::to_string(size);
      else if (size != 1)
        term = fmt::format("{}*{}", size, term);
      const char* joint = coefficient < 0 ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ");
      text += joint + term;
    }
    return text;
  }
};

namespace {

template <class F>
auto with_table(F&& f) {
  DimTable& table = DimTable::get();
  const std::lock_guard lock(table.mutex);
  return f(table);
}

}  // namespace

Dim::Dim(std::string_view name, int64_t min, int64_t max) : value_(0) {
  *this = with_table([&](DimTable& table) {
    if (name.empty() || min < 0 || max < min) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("symbol '{}' needs a name and bounds 0 <= min <= max, got [{}, {}]", name, min, max));
    }
    const auto found = table.symbols.find(name);
    if (found == table.symbols.end()) {
      table.symbols.emplace(name, static_cast<int>(table.atoms.size()));
      table.atoms.push_back({Atom::Symbol, std::string(name), min, max, 0, 0});
      return table.make_atom(static_cast<int>(table.atoms.size()) - 1);
    }
    const AtomNode& atom = table.atoms[static_cast<size_t>(found->second)];
    if (atom.min != min || atom.max != max) {
      throw Error(
          Code::kInvalidArgument,
          fmt::format("symbol '{}' exists with bounds [{}, {}], not [{}, {}]", name, atom.min, atom.max, min, max),
          "use one set of bounds for a name");
    }
    return table.make_atom(found->second);
  });
}

int64_t Dim::fail_number() const {
  throw Error(Code::kFailedPrecondition,
              {.what = fmt::format("dimension '{}' is symbolic; its number is not known here", to_string(*this)),
               .details = {"x.dim(axis) and x.size() are numbers of the host; x.shape() works with symbols too"},
               .fix = "compute with Dim (x.shape()[axis]), or give the Spec a number: then each one is recorded"});
}
bool Dim::is_symbol() const {
  return !is_number() && with_table([&](DimTable& t) {
    const Polynomial& p = t.expressions[static_cast<size_t>(value_ - INT64_MIN)];
    const Monomial& first = p.begin()->first;
    return p.size() == 1 && p.begin()->second == 1 && first.size() == 1 &&
           t.atoms[static_cast<size_t>(first[0])].kind == Atom::Symbol;
  });
}
int64_t Dim::min() const {
  return is_number() ? value_ : with_table([&](DimTable& t) { return t.bound(*this, false); });
}
int64_t Dim::max() const {
  return is_number() ? value_ : with_table([&](DimTable& t) { return t.bound(*this, true); });
}
int64_t Dim::evaluate_symbol(int64_t (*lookup)(std::string_view, void*), void* context) const {
  return with_table([&](DimTable& t) { return t.evaluate(*this, lookup, context); });
}

Dim operator+(Dim a, Dim b) {
  if (a.is_number() && b.is_number()) return checked(static_cast<__int128>(a.key()) + b.key());
  return with_table([&](DimTable& t) { return t.add(a, b, 1); });
}
Dim operator-(Dim a, Dim b) {
  if (a.is_number() && b.is_number()) return checked(static_cast<__int128>(a.key()) - b.key());
  return with_table([&](DimTable& t) { return t.add(a, b, -1); });
}
Dim operator*(Dim a, Dim b) {
  if (a.is_number() && b.is_number()) return checked(static_cast<__int128>(a.key()) * b.key());
  return with_table([&](DimTable& t) { return t.multiply(a, b); });
}

Dim floor_div(Dim a, Dim b) {
  if (b.min() <= 0)
    throw Error(Code::kInvalidArgument, fmt::format("division of dimension {} by {}", to_string(a), to_string(b)));
  if (a.is_number() && b.is_number()) return floor_quotient(a.key(), b.key());
  return with_table([&](DimTable& t) {
    if (b.is_number()) {  // an exact quotient stays polynomial: floor((4n + 8) / 4) = n + 2
      Polynomial quotient;
      bool exact = true;
      for (const auto& [monomial, coefficient] : t.terms(a)) {
        exact = exact && coefficient % b.key() == 0;
        quotient[monomial] = coefficient / b.key();
      }
      if (exact) return t.make(quotient);
    }
    if (a == b) return Dim(1);
    const int64_t corners[] = {floor_quotient(a.min(), b.min()), floor_quotient(a.min(), b.max()),
                               floor_quotient(a.max(), b.min()), floor_quotient(a.max(), b.max())};
    return t.function(Atom::FloorDiv, a, b, *std::ranges::min_element(corners), *std::ranges::max_element(corners));
  });
}

Dim mod(Dim a, Dim b) { return a - b * floor_div(a, b); }

Dim max(Dim a, Dim b) {
  if (a.is_number() && b.is_number()) return std::max(a.key(), b.key());
  if (a.min() >= b.max()) return a;
  if (b.min() >= a.max()) return b;
  return with_table([&](DimTable& t) {
    return a == b ? a : t.function(Atom::Max, a, b, std::max(a.min(), b.min()), std::max(a.max(), b.max()));
  });
}
Dim min(Dim a, Dim b) {
  if (a.is_number() && b.is_number()) return std::min(a.key(), b.key());
  if (a.max() <= b.min()) return a;
  if (b.max() <= a.min()) return b;
  return with_table([&](DimTable& t) {
    return a == b ? a : t.function(Atom::Min, a, b, std::min(a.min(), b.min()), std::min(a.max(), b.max()));
  });
}

bool find_symbol(std::string_view name, Dim& symbol) {
  return with_table([&](DimTable& table) {
    const auto found = table.symbols.find(name);
    if (found == table.symbols.end()) return false;
    symbol = table.make_atom(found->second);
    return true;
  });
}

std::string to_string(Dim dim) {
  if (dim.is_number()) return std::to_string(dim.key());
  return with_table([&](DimTable& t) { return t.print(dim); });
}

}  // namespace hone

// einsum: diagonals and lonely letters first, then pairs from left to right as dot_general, then one transpose.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hone/base/error.h"
#include "hone/ops/attrs.h"
#include "hone/ops/contraction.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

struct Term {
  std::string labels;
  Tensor value;
};

class Equation {
 public:
  Equation(std::string_view text, std::span<const Tensor> operands, Location location)
      : text_(text), location_(location) {
    std::string compact;
    for (char c : text) {
      if (c != ' ') compact += c;
    }
    const size_t arrow = compact.find("->");
    const std::string inputs = compact.substr(0, arrow);
    split(inputs, operands);
    check_extents();
    if (arrow != std::string::npos) {
      output_ = compact.substr(arrow + 2);
    } else {
      for (char c : inputs) {
        if (c != ',' && std::count(inputs.begin(), inputs.end(), c) == 1) output_ += c;
      }
      std::sort(output_.begin(), output_.end());
    }
    check_output(inputs);
  }

  Tensor run() {
    for (size_t i = 0; i < terms_.size(); ++i) {
      take_diagonals(terms_[i]);
      sum_lonely(i);
    }
    while (terms_.size() > 1) combine_first_two();
    return permuted(terms_[0]);
  }

 private:
  [[noreturn]] void fail(std::string detail, std::string fix) const {
    throw Error(Code::kInvalidArgument, {.what = fmt::format("invalid equation \"{}\" in einsum", text_),
                                         .location = LocationScope::resolve(location_),
                                         .details = {std::move(detail)},
                                         .fix = std::move(fix)});
  }

  void split(const std::string& inputs, std::span<const Tensor> operands) {
    std::vector<Operand> list;
    for (const Tensor& operand : operands) list.emplace_back(operand, location_);
    std::vector<const Operand*> pointers;
    for (const Operand& operand : list) pointers.push_back(&operand);
    const DType dtype = promoted(pointers);
    size_t begin = 0;
    for (size_t i = 0;; ++i) {
      const size_t end = inputs.find(',', begin);
      const std::string labels = inputs.substr(begin, end == std::string::npos ? end : end - begin);
      check_letters(labels);
      if (i < operands.size()) {
        if (static_cast<int>(labels.size()) != operands[i].rank()) {
          fail(fmt::format("\"{}\" names {} axes, operand {} is {}", labels, labels.size(), i,
                           to_string(operands[i].type())),
               "write one letter an axis");
        }
        terms_.push_back({labels, to_tensor(std::move(list[i]), dtype)});
      } else {
        fail(fmt::format("it has more terms than the {} operands", operands.size()),
             "write one term an operand, separated by commas");
      }
      if (end == std::string::npos) break;
      begin = end + 1;
    }
    if (terms_.size() != operands.size()) {
      fail(fmt::format("it has {} terms for {} operands", terms_.size(), operands.size()),
           "write one term an operand, separated by commas");
    }
  }

  void check_letters(const std::string& labels) const {
    for (char c : labels) {
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) continue;
      fail(fmt::format("'{}' is not a letter", c),
           c == '.' ? "name every axis by a letter; \"...\" is not served" : "name axes by letters a-z, A-Z");
    }
  }

  void check_extents() const {
    for (const Term& a : terms_) {
      for (const Term& b : terms_) {
        for (size_t i = 0; i < a.labels.size(); ++i) {
          for (size_t j = 0; j < b.labels.size(); ++j) {
            const Dim x = a.value.shape()[i], y = b.value.shape()[j];
            if (a.labels[i] != b.labels[j] || x == y) continue;
            fail(fmt::format("sizes of '{}' differ: {} in {}, {} in {}", a.labels[i], to_string(x),
                             to_string(a.value.type()), to_string(y), to_string(b.value.type())),
                 "one letter stands for one size");
          }
        }
      }
    }
  }

  void check_output(const std::string& inputs) const {
    check_letters(output_);
    for (char c : output_) {
      if (inputs.find(c) == std::string::npos)
        fail(fmt::format("'{}' of the result appears in no operand", c), "use letters of the operands");
      if (std::count(output_.begin(), output_.end(), c) > 1)
        fail(fmt::format("'{}' appears twice in the result", c), "name each axis of the result once");
    }
  }

  void take_diagonals(Term& term) const {
    for (size_t first = 0; first < term.labels.size(); ++first) {
      for (size_t second = term.labels.find(term.labels[first], first + 1); second != std::string::npos;
           second = term.labels.find(term.labels[first], first + 1)) {
        Ints order = {static_cast<int64_t>(first), static_cast<int64_t>(second)};
        Shape flat = {term.value.shape()[first] * term.value.shape()[second]}, start = {0};
        Ints strides = {term.value.shape()[first].number() + 1};
        std::string labels(1, term.labels[first]);
        for (size_t axis = 0; axis < term.labels.size(); ++axis) {
          if (axis == first || axis == second) continue;
          order.push_back(static_cast<int64_t>(axis));
          flat.push_back(term.value.shape()[axis]);
          start.push_back(0);
          strides.push_back(1);
          labels += term.labels[axis];
        }
        Tensor square = reshape(Operand(transpose(Operand(term.value, location_), order), location_), flat);
        term = {labels, slice_by(Operand(std::move(square), location_), start, flat, strides)};
        first = 0;
      }
    }
  }

  bool needed(char label, size_t from, size_t except) const {
    if (output_.find(label) != std::string::npos) return true;
    for (size_t i = from; i < terms_.size(); ++i) {
      if (i != except && terms_[i].labels.find(label) != std::string::npos) return true;
    }
    return false;
  }

  void sum_lonely(size_t i) {
    Term& term = terms_[i];
    Ints axes;
    std::string kept;
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      if (needed(term.labels[axis], 0, i))
        kept += term.labels[axis];
      else
        axes.push_back(static_cast<int64_t>(axis));
    }
    if (!axes.empty()) term = {kept, call_op(ops::reduce_sum, AxesAttrs{axes}, location_, std::move(term.value))};
  }

  void combine_first_two() {
    // The other order of the operands may spare the transpose at the end.
    const bool swap = terms_.size() == 2 && result_labels(terms_[0], terms_[1]) != output_ &&
                      result_labels(terms_[1], terms_[0]) == output_;
    Term joined = swap ? multiply(terms_[1], terms_[0]) : multiply(terms_[0], terms_[1]);
    terms_.erase(terms_.begin());
    terms_[0] = std::move(joined);
  }

  std::string result_labels(const Term& a, const Term& b) const {
    std::string batch, free_a, free_b;
    for (char c : a.labels) {
      if (b.labels.find(c) == std::string::npos)
        free_a += c;
      else if (needed(c, 2, terms_.size()))
        batch += c;
    }
    for (char c : b.labels) {
      if (a.labels.find(c) == std::string::npos) free_b += c;
    }
    return batch + free_a + free_b;
  }

  Term multiply(const Term& a, const Term& b) const {
    DotAttrs attrs;
    for (size_t i = 0; i < a.labels.size(); ++i) {
      const size_t j = b.labels.find(a.labels[i]);
      if (j == std::string::npos) continue;
      const bool batch = needed(a.labels[i], 2, terms_.size());
      (batch ? attrs.lhs_batch : attrs.lhs_contract).push_back(static_cast<int64_t>(i));
      (batch ? attrs.rhs_batch : attrs.rhs_contract).push_back(static_cast<int64_t>(j));
    }
    return {result_labels(a, b), call_op(ops::dot_general, attrs, location_, a.value, b.value)};
  }

  Tensor permuted(const Term& term) const {
    if (term.labels == output_) return term.value;
    Ints order;
    for (char c : output_) order.push_back(static_cast<int64_t>(term.labels.find(c)));
    return transpose(Operand(term.value, location_), order);
  }

  std::string text_, output_;
  std::vector<Term> terms_;
  Location location_;
};

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands, Location location) {
  return Equation(equation, operands, location).run();
}

}  // namespace hone

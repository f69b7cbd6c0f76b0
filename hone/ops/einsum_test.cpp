#include <gtest/gtest.h>

#include <map>

#include "hone/base/error.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"

namespace hone {
namespace {

Tensor numbers(const Shape& shape, int seed) {
  std::vector<double> values(static_cast<size_t>(shape.count()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>((i * 37 + static_cast<size_t>(seed) * 11) % 23) - 11;
  return Tensor::from(values, shape);
}

// The definition: a sum over all letters that the result lacks.
std::vector<double> naive(const std::string& inputs, const std::string& output, const std::vector<Tensor>& operands) {
  std::vector<std::string> terms(1);
  for (char c : inputs) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  std::map<char, int64_t> extents, at;
  for (size_t t = 0; t < terms.size(); ++t) {
    for (size_t i = 0; i < terms[t].size(); ++i) extents[terms[t][i]] = operands[t].dim(static_cast<int>(i));
  }
  std::string order = output;
  for (const auto& [label, extent] : extents) {
    if (output.find(label) == std::string::npos) order += label;
  }
  int64_t total = 1, results = 1;
  for (const auto& [label, extent] : extents) total *= extent;
  for (char c : output) results *= extents[c];
  std::vector<double> out(static_cast<size_t>(results));
  for (int64_t index = 0; index < total; ++index) {
    int64_t rest = index;
    for (size_t i = order.size(); i-- > 0; rest /= extents[order[i]]) at[order[i]] = rest % extents[order[i]];
    double product = 1;
    for (size_t t = 0; t < terms.size(); ++t) {
      int64_t offset = 0;
      for (char c : terms[t]) offset = offset * extents[c] + at[c];
      product *= operands[t].data<double>()[static_cast<size_t>(offset)];
    }
    int64_t place = 0;
    for (char c : output) place = place * extents[c] + at[c];
    out[static_cast<size_t>(place)] += product;
  }
  return out;
}

TEST(Einsum, Table) {
  struct Case {
    std::string equation, inputs, output;
    std::vector<Shape> shapes;
  };
  const Case cases[] = {{"ij,jk->ik", "ij,jk", "ik", {{3, 4}, {4, 5}}},
                        {"ij,jk", "ij,jk", "ik", {{3, 4}, {4, 5}}},
                        {"ij,jk->ki", "ij,jk", "ki", {{3, 4}, {4, 5}}},
                        {"bij, bjk -> bik", "bij,bjk", "bik", {{2, 3, 4}, {2, 4, 5}}},
                        {"bij,bjk->jbk", "bij,bjk", "jbk", {{2, 3, 4}, {2, 4, 5}}},
                        {"bthd,bshd->bhts", "bthd,bshd", "bhts", {{2, 3, 2, 4}, {2, 5, 2, 4}}},
                        {"bhts,bshd->bthd", "bhts,bshd", "bthd", {{2, 2, 3, 5}, {2, 5, 2, 4}}},
                        {"ii->i", "ii", "i", {{4, 4}}},
                        {"ii", "ii", "", {{4, 4}}},
                        {"iij->j", "iij", "j", {{4, 4, 3}}},
                        {"jii->ij", "jii", "ij", {{3, 4, 4}}},
                        {"iii->i", "iii", "i", {{3, 3, 3}}},
                        {"ijij->ij", "ijij", "ij", {{2, 3, 2, 3}}},
                        {"ijk->ki", "ijk", "ki", {{2, 3, 4}}},
                        {"ijk->", "ijk", "", {{2, 3, 4}}},
                        {"i,j->ij", "i,j", "ij", {{3}, {4}}},
                        {"i,i->", "i,i", "", {{5}, {5}}},
                        {"i,i->i", "i,i", "i", {{5}, {5}}},
                        {"ij,kj,il->kl", "ij,kj,il", "kl", {{3, 4}, {5, 4}, {3, 2}}},
                        {"a,ab,bc,cd->d", "a,ab,bc,cd", "d", {{2}, {2, 3}, {3, 4}, {4, 5}}},
                        {",ij->ji", ",ij", "ji", {{}, {2, 3}}},
                        {"ij,k->i", "ij,k", "i", {{3, 4}, {5}}},
                        {"ii,ij->ij", "ii,ij", "ij", {{3, 3}, {3, 4}}}};
  for (const Case& c : cases) {
    std::vector<Tensor> operands;
    for (const Shape& shape : c.shapes) operands.push_back(numbers(shape, static_cast<int>(operands.size())));
    const Tensor got = einsum(c.equation, operands);
    EXPECT_EQ(got.to_vector<double>(), naive(c.inputs, c.output, operands)) << c.equation;
    EXPECT_EQ(got.rank(), static_cast<int>(c.output.size())) << c.equation;
  }
}

TEST(Einsum, ErrorsNameTheLetter) {
  struct Case {
    const char* equation;
    std::vector<Shape> shapes;
    const char* message;
  };
  const Case cases[] = {{"ij,jk->ik", {{3, 4}, {5, 6}}, "sizes of 'j' differ"},
                        {"ij->ik", {{3, 4}}, "'k' of the result"},
                        {"ij->ii", {{3, 4}}, "twice in the result"},
                        {"ijk->ij", {{3, 4}}, "names 3 axes"},
                        {"ij,jk->ik", {{3, 4}}, "more terms"},
                        {"ij->ij", {{3, 4}, {3, 4}}, "terms for 2 operands"},
                        {"...ij->ij", {{3, 4}}, "not a letter"},
                        {"ii->i", {{3, 4}}, "sizes of 'i' differ"}};
  for (const Case& c : cases) {
    std::vector<Tensor> operands;
    for (const Shape& shape : c.shapes) operands.push_back(zeros(shape));
    try {
      einsum(c.equation, operands);
      ADD_FAILURE() << c.equation << " was taken";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(c.message), std::string::npos) << error.what();
    }
  }
}

TEST(Tensordot, OuterAndPairsOfAxes) {
  const Tensor a = numbers({3, 4, 5}, 1), b = numbers({5, 4, 2}, 2);
  EXPECT_EQ(tensordot(a, b, {1, 2}, {1, 0}).to_vector<double>(), naive("ijk,kjl", "il", {a, b}));
  EXPECT_EQ(tensordot(a, b, {-1}, {0}).shape(), (Shape{3, 4, 4, 2}));
  EXPECT_EQ(tensordot(numbers({2, 3}, 1), numbers({3, 4}, 2), 1).shape(), (Shape{2, 4}));
  EXPECT_EQ(tensordot(numbers({2}, 1), numbers({3}, 2), 0).shape(), (Shape{2, 3}));
  EXPECT_EQ(outer(Tensor::of<float>({1, 2}), Tensor::of<float>({3, 4, 5})).to_vector<float>(),
            (std::vector<float>{3, 4, 5, 6, 8, 10}));
}

}  // namespace
}  // namespace hone

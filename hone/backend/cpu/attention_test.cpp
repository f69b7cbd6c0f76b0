#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "hone/base/error.h"
#include "hone/base/parallel.h"
#include "hone/ops/attention.h"
#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

Tensor numbers(const Shape& shape, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(shape.count()));
  for (float& v : values) {
    seed = seed * 1664525U + 1013904223U;
    v = static_cast<float>(seed >> 8) * 0x1p-23F - 1;
  }
  return Tensor::from(values, shape);
}
Tensor coins(const Shape& shape) {
  std::vector<bool> values(static_cast<size_t>(shape.count()));
  uint32_t seed = 7;
  for (size_t i = 0; i < values.size(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    values[i] = (seed >> 20 & 3) != 0;
  }
  return Tensor::from(values, shape);
}

struct Case {
  int64_t b, t, s, h, d;
  bool causal;
  Shape mask;  // empty: none
};
const Case kCases[] = {{2, 3, 5, 2, 4, false, {}},
                       {1, 1, 1, 1, 1, false, {}},
                       {2, 50, 50, 3, 16, true, {}},
                       {1, 33, 300, 2, 20, false, {}},
                       {1, 300, 290, 1, 64, true, {}},
                       {2, 40, 17, 2, 24, false, {2, 1, 40, 17}},
                       {2, 25, 140, 2, 8, true, {1, 2, 25, 140}},
                       {1, 16, 16, 4, 64, true, {}}};

struct Attention {
  std::vector<double> out, lse, dq, dk, dv;
};

// The definition and its derivative, in double.
Attention naive(const Case& c, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const Tensor& ct,
                double scale) {
  const auto wide = [](const Tensor& x) {
    const auto values = x.to_vector<float>();
    return std::vector<double>(values.begin(), values.end());
  };
  const auto Q = wide(q), K = wide(k), V = wide(v), C = wide(ct);
  Attention a{std::vector<double>(Q.size()), std::vector<double>(static_cast<size_t>(c.b * c.h * c.t)),
              std::vector<double>(Q.size()), std::vector<double>(K.size()), std::vector<double>(K.size())};
  for (int64_t b = 0; b < c.b; ++b)
    for (int64_t h = 0; h < c.h; ++h)
      for (int64_t i = 0; i < c.t; ++i) {
        const auto at = [&](int64_t length, int64_t time, int64_t f) {
          return static_cast<size_t>(((b * length + time) * c.h + h) * c.d + f);
        };
        std::vector<double> p(static_cast<size_t>(c.s));
        double total = 0;
        for (int64_t j = 0; j < c.s; ++j) {
          if (c.causal && j > i) continue;
          if (mask.defined()) {
            const int64_t mb = c.mask[0] == Dim(1) ? 0 : b, mh = c.mask[1] == Dim(1) ? 0 : h;
            if (!mask.data<bool>()[static_cast<size_t>(((mb * c.mask[1].number() + mh) * c.t + i) * c.s + j)]) continue;
          }
          double score = 0;
          for (int64_t f = 0; f < c.d; ++f) score += Q[at(c.t, i, f)] * K[at(c.s, j, f)];
          total += p[static_cast<size_t>(j)] = std::exp(score * scale);
        }
        a.lse[static_cast<size_t>((b * c.h + h) * c.t + i)] = std::log(total);
        double delta = 0;
        for (int64_t j = 0; j < c.s; ++j) {
          double& weight = p[static_cast<size_t>(j)];
          weight = total > 0 ? weight / total : 0;
          for (int64_t f = 0; f < c.d; ++f) a.out[at(c.t, i, f)] += weight * V[at(c.s, j, f)];
        }
        for (int64_t f = 0; f < c.d; ++f) delta += C[at(c.t, i, f)] * a.out[at(c.t, i, f)];
        for (int64_t j = 0; j < c.s; ++j) {
          const double weight = p[static_cast<size_t>(j)];
          double dp = 0;
          for (int64_t f = 0; f < c.d; ++f) dp += C[at(c.t, i, f)] * V[at(c.s, j, f)];
          const double ds = weight * (dp - delta) * scale;
          for (int64_t f = 0; f < c.d; ++f) {
            a.dv[at(c.s, j, f)] += weight * C[at(c.t, i, f)];
            a.dq[at(c.t, i, f)] += ds * K[at(c.s, j, f)];
            a.dk[at(c.s, j, f)] += ds * Q[at(c.t, i, f)];
          }
        }
      }
  return a;
}

void expect_near(const Tensor& got, const std::vector<double>& wanted, double tolerance, const char* what) {
  const auto values = got.to_vector<float>();
  ASSERT_EQ(values.size(), wanted.size()) << what;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isinf(wanted[i])) {
      ASSERT_EQ(values[i], wanted[i]) << what;
    } else {
      ASSERT_NEAR(values[i], wanted[i], tolerance) << what << " at " << i;
    }
  }
}

struct Results {
  Tensor forward[2], backward[3];
};
template <class Run>
Results both(const Case& c, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const Tensor& ct,
             double scale, Run&& run) {
  Results r;
  const SdpaAttrs attrs{scale, c.causal};
  Tensor in[] = {q, k, v, mask};
  run(Call{ops::sdpa, attrs, std::span(in, mask.defined() ? 4 : 3), r.forward, {}});
  Tensor grad_in[] = {q, k, v, r.forward[0], r.forward[1], ct, mask};
  run(Call{ops::sdpa_grad, attrs, std::span(grad_in, mask.defined() ? 7 : 6), r.backward, {}});
  return r;
}
void kernel(Call call) { dispatch(call); }
void decomposed(Call call) { decompose(call); }

TEST(Attention, KernelAndDecompositionFollowTheDefinition) {
  for (const Case& c : kCases) {
    const Tensor q = numbers({c.b, c.t, c.h, c.d}, 1), k = numbers({c.b, c.s, c.h, c.d}, 2),
                 v = numbers({c.b, c.s, c.h, c.d}, 3);
    const Tensor ct = numbers(q.shape(), 4), mask = c.mask.empty() ? Tensor() : coins(c.mask);
    const double scale = 0.3;
    const Attention wanted = naive(c, q, k, v, mask, ct, scale);
    for (auto run : {kernel, decomposed}) {
      const Results r = both(c, q, k, v, mask, ct, scale, run);
      if (run == kernel) {
        EXPECT_STREQ(last_kernel(), "cpu.sdpa_grad");
      }
      expect_near(r.forward[0], wanted.out, 2e-6, "out");
      expect_near(r.forward[1], wanted.lse, 2e-6, "logsumexp");
      expect_near(r.backward[0], wanted.dq, 1e-5, "dq");
      expect_near(r.backward[1], wanted.dk, 2e-5, "dk");
      expect_near(r.backward[2], wanted.dv, 2e-5, "dv");
    }
  }
}

TEST(Attention, LargeScoresDoNotOverflow) {
  const Tensor q = full({1, 2, 1, 16}, 50.0, f32).dense(), v = numbers({1, 2, 1, 16}, 3);
  const Tensor out = scaled_dot_product_attention(q, q, v, {.scale = 1.0});
  for (size_t i = 0; i < 16; ++i)
    EXPECT_NEAR(out.data<float>()[i], (v.data<float>()[i] + v.data<float>()[16 + i]) / 2, 1e-6);
}

TEST(Attention, QueryWithNothingToAttendToGivesZero) {
  std::vector<bool> allowed(3 * 4, true);
  for (size_t j = 0; j < 4; ++j) allowed[4 + j] = false;
  const Tensor q = numbers({1, 3, 1, 8}, 1), k = numbers({1, 4, 1, 8}, 2), mask = Tensor::from(allowed, {1, 1, 3, 4});
  const Tensor out = scaled_dot_product_attention(q, k, k, {.mask = mask});
  for (size_t f = 0; f < 8; ++f) {
    EXPECT_EQ(out.data<float>()[8 + f], 0);
    EXPECT_NE(out.data<float>()[f], 0);
  }
}

TEST(Attention, SameBitsForAnyThreadCount) {
  const Case& c = kCases[2];
  const Tensor q = numbers({c.b, c.t, c.h, c.d}, 1), k = numbers({c.b, c.s, c.h, c.d}, 2), ct = numbers(q.shape(), 4);
  Results first;
  for (int count : {1, 2, 3, 7}) {
    set_threads(count);
    Results r = both(c, q, k, k, {}, ct, 0.25, kernel);
    if (count == 1) first = r;
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(std::memcmp(r.backward[i].raw(), first.backward[i].raw(), first.backward[i].bytes()), 0) << count;
    EXPECT_EQ(std::memcmp(r.forward[0].raw(), first.forward[0].raw(), first.forward[0].bytes()), 0) << count;
  }
  set_threads(cpu_budget());
}

TEST(Attention, ErrorsNameTheAxes) {
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Tensor q = zeros({2, 3, 4, 8});
  EXPECT_NE(message([&] {
              scaled_dot_product_attention(q, zeros({2, 3, 5, 8}), zeros({2, 3, 5, 8}));
            }).find("agree in b, h and d"),
            std::string::npos);
  EXPECT_NE(message([&] { scaled_dot_product_attention(zeros({3, 8}), q, q); }).find("[b, t, h, d]"),
            std::string::npos);
  EXPECT_NE(message([&] {
              scaled_dot_product_attention(q, q, q, {.mask = zeros({1, 1, 3, 3})});
            }).find("bool [2 or 1, 4 or 1, 3, 3]"),
            std::string::npos);
}

}  // namespace
}  // namespace hone

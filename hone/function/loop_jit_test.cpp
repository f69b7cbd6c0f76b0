// Loops as one function of machine code: the bits of eager, and why a loop is none.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>

#include "hone/backend/cpu/loop_code.h"
#include "hone/base/settings.h"
#include "hone/function/control.h"
#include "hone/function/function.h"
#include "hone/function/grad.h"
#include "hone/function/lowered.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/misc.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "hone/ops/sorting.h"

namespace hone {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Of a NaN only that it is one.
bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return false;
  if (std::memcmp(a.raw(), b.raw(), a.bytes()) == 0) return true;
  if (!is_floating(a.dtype())) return false;
  const Tensor x = cast(a, f64), y = cast(b, f64);
  for (int64_t i = 0; i < a.size(); ++i) {
    const double u = reshape(x, {-1})[i].item<double>(), v = reshape(y, {-1})[i].item<double>();
    if (std::bit_cast<uint64_t>(u) != std::bit_cast<uint64_t>(v) && !(u != u && v != v)) return false;
  }
  return true;
}

Tensor drawn(const Shape& shape, uint64_t key, DType dtype = f32) {
  return cast(random::normal(random::state(key), shape).second * (is_floating(dtype) ? 1 : 20), dtype);
}

class LoopJit : public testing::Test {
 protected:
  void SetUp() override {
    if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  }
  void TearDown() override {
    wait_for_machine_code();
    settings.jit = true;
  }
};

// f eagerly, as a graph and as machine code; the last is one kernel that runs `loops` times.
template <class F, class... Args>
void check(const std::string& what, const F& f, int64_t loops, const Args&... args) {
  const std::vector<Tensor> expected = f(args...);
  settings.jit = false;
  const std::vector<Tensor> graph = function(f)(args...);
  settings.jit = true;
  const auto jitted = function(f, {.jit_compile = true});
  const int64_t before = loop_code_runs();
  const std::vector<Tensor> code = jitted(args...);
  EXPECT_EQ(loop_code_runs() - before, loops) << what << "\n" << jitted.lower(args...).fusion();
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(same_bits(expected[i], graph[i])) << what << ": graph, result " << i;
    EXPECT_TRUE(same_bits(expected[i], code[i])) << what << ": machine code, result " << i;
  }
}

TEST_F(LoopJit, AWhileOverScalarsHasTheBitsOfEager) {
  for (const DType dtype : {i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, f16, bf16}) {
    for (const int32_t times : {0, 1, 2, 77}) {
      check(
          std::string(name(dtype)) + " " + std::to_string(times),
          [](const Tensor& x, const Tensor& n) {
            const auto [value, i] = while_loop([&](const auto& c) { return less(c.second, n); },
                                               [](const auto& c) {
                                                 const Tensor v = c.first;
                                                 return std::pair{v * 3 + cast(c.second, v.dtype()), c.second + 1};
                                               },
                                               std::pair{x, zeros({}, i32)});
            return std::vector<Tensor>{value, i};
          },
          1, cast(Tensor(7), dtype), Tensor(times));
    }
  }
}

Tensor scaled(const Tensor& x) { return is_floating(x.dtype()) ? x * 0.5 : x * 3; }

// Bodies over a carry and a row, both of one type; some change both.
struct Body {
  const char* name;
  bool integers;
  std::function<Tensor(const Tensor&, const Tensor&)> f;
};
const std::vector<Body>& bodies() {
  static const std::vector<Body> list = {
      {"elementwise", false, [](const Tensor& c, const Tensor& x) { return tanh(scaled(c) + x) - exp(-abs(x)); }},
      {"comparisons", true, [](const Tensor& c, const Tensor& x) { return where(c > x, c - x, maximum(c, x) + 1); }},
      {"types", true, [](const Tensor& c, const Tensor& x) { return cast(cast(c * 3, i32) ^ 5, x.dtype()) + x; }},
      {"sums", true, [](const Tensor& c, const Tensor& x) { return scaled(c) + sum(x) - scaled(max(c)); }},
      {"sums of rows", true,
       [](const Tensor& c, const Tensor& x) { return c + scaled(sum(x, 0, true)) - min(c, -1, true); }},
      {"products", true, [](const Tensor& c, const Tensor& x) { return scaled(matmul(c, x)) + x; }},
      {"transposes", true,
       [](const Tensor& c, const Tensor& x) {
         const Tensor parts[] = {c[slice(0, 1)], x};
         return transpose(c) + concatenate(parts, 0)[slice(0, x.dim(0))];
       }},
      {"branches", true,
       [](const Tensor& c, const Tensor& x) {
         return cond(
             sum(x) > sum(c), [&] { return scaled(c) + x; },
             [&] { return cond(sum(x) > 0, [&] { return x; }, [&] { return -c; }); });
       }},
      {"cases", true,
       [](const Tensor& c, const Tensor& x) {
         return switch_case(cast(sum(c), i32), {[&] { return x; }, [&] { return c + x; }, [&] { return scaled(c); }});
       }},
  };
  return list;
}

std::vector<Tensor> scanned(const Body& body, const Tensor& init, const Tensor& xs, bool reverse) {
  const auto [last, ys] = scan(
      [&](const Tensor& c, const Tensor& x) {
        const Tensor next = body.f(c, x);
        return std::pair{next, std::tuple{next, c, x * 2}};
      },
      init, xs, {.reverse = reverse});
  return {last, std::get<0>(ys), std::get<1>(ys), std::get<2>(ys)};
}

TEST_F(LoopJit, AScanOverSmallTensorsHasTheBitsOfEager) {
  for (const DType dtype : {f32, f64, f16, bf16, i32, i64}) {
    for (const int64_t n : {1, 3, 7}) {
      for (const int64_t length : {0, 6}) {
        if (length == 0 && n != 3) continue;
        const Tensor init = drawn({n, n}, 1, dtype), xs = drawn({length, n, n}, 2, dtype);
        for (const Body& body : bodies()) {
          if (!is_floating(dtype) && !body.integers) continue;
          check(
              std::string(body.name) + " of " + std::string(name(dtype)) + ", n " + std::to_string(n),
              [&](const Tensor& c, const Tensor& x) { return scanned(body, c, x, length == 6 && n == 3); }, 1, init,
              xs);
        }
      }
    }
  }
}

// A count that grows by one in each run shows which tier ran.
TEST_F(LoopJit, AFunctionGetsTheCodeAfterItsSecondCall) {
  const auto body = [](const Tensor& y, const Tensor& x) {
    const Tensor next = y * 0.9F + x * 0.1F;
    return std::pair{next, next};
  };
  const auto f = function([&](const Tensor& init, const Tensor& xs) { return scan(body, init, xs).second; });
  const Tensor init(0.0F), xs = drawn({50}, 3), expected = scan(body, init, xs).second;
  for (int call = 0; call < 5; ++call) {
    const int64_t before = loop_code_runs();
    EXPECT_TRUE(same_bits(f(init, xs), expected));
    wait_for_machine_code();
    if (call == 1) continue;
    EXPECT_EQ(loop_code_runs() - before, call < 1 ? 0 : 1) << "call " << call;
  }
  settings.jit = false;
  const int64_t before = loop_code_runs();
  EXPECT_TRUE(same_bits(f(init, xs), expected));
  EXPECT_EQ(loop_code_runs(), before);
}

TEST_F(LoopJit, SpecialValuesAreCarriedAsEagerly) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor xs = Tensor::of<float>({0.0F, -0.0F, kInf, -kInf, kNan, 1e-42F, -1e38F, 3e38F, 1.0F});
  for (const float start : {0.0F, -0.0F, kInf, kNan, 1e-45F, 2.5F}) {
    check(
        "from " + std::to_string(start),
        [](const Tensor& init, const Tensor& rows) {
          const auto [last, ys] = scan(
              [](const Tensor& c, const Tensor& x) {
                const Tensor next = where(c < x, c * x, minimum(c, x) + x / 3);
                return std::pair{next, std::tuple{next, cast(x * c, i32), sqrt(c) + exp(x)}};
              },
              init, rows);
          return std::vector<Tensor>{last, std::get<0>(ys), std::get<1>(ys), std::get<2>(ys)};
        },
        1, Tensor(start), xs);
  }
  check(
      "wraps around",
      [](const Tensor& x) {
        const auto [v, n] = while_loop([](const auto& c) { return c.second < 64; },
                                       [](const auto& c) { return std::pair{c.first * 3 + 1, c.second + 1}; },
                                       std::pair{x, zeros({}, i32)});
        return std::vector<Tensor>{v, n};
      },
      1, Tensor(std::numeric_limits<int32_t>::max()));
}

TEST_F(LoopJit, TablesOfAnySizeAreReadAtIndicesThatFit) {
  const Tensor table = drawn({200, 3}, 5), vector = drawn({7}, 6);
  check(
      "tables",
      [](const Tensor& rows, const Tensor& few) {
        const auto [sum, i] =
            while_loop([](const auto& c) { return c.second < 230; },
                       [&](const auto& c) {
                         const Tensor at[] = {c.second, zeros({}, i32)};
                         const Tensor row = reshape(dynamic_slice(rows, at, {1, 3}), {3});
                         const Tensor last[] = {c.second - 20};
                         return std::pair{c.first * 0.5 + row + dynamic_slice(few, last, {1}) + few[2], c.second + 1};
                       },
                       std::pair{zeros({3}), Tensor(-20)});
        return std::vector<Tensor>{sum, i};
      },
      1, table, vector);
}

TEST_F(LoopJit, GradientsOfScansHaveTheBitsOfEager) {
  const auto loss = [](const Tensor& w, const Tensor& xs) {
    return sum(scan(
                   [&](const Tensor& c, const Tensor& x) {
                     const Tensor next = tanh(matmul(w, c) + x);
                     return std::pair{next, next * next};
                   },
                   zeros({3}), xs)
                   .second);
  };
  // One loop forwards, one backwards.
  check(
      "gradient",
      [&](const Tensor& w, const Tensor& xs) {
        const auto [dw, dx] = grad([&](const Tensor& a, const Tensor& b) { return loss(a, b); }, argnums<0, 1>)(w, xs);
        return std::vector<Tensor>{dw, dx};
      },
      2, drawn({3, 3}, 1), drawn({20, 3}, 2));
}

TEST_F(LoopJit, ThreadsRunOneLoopAtTheSameTime) {
  const auto f = function([](const Tensor& x) {
    return fori_loop(0, 1000, [](const Tensor& i, const Tensor& c) { return c * 3 + i; }, x);
  });
  const Tensor expected = f(Tensor(7));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int call = 0; call < 50; ++call) EXPECT_TRUE(same_bits(f(Tensor(7)), expected));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(LoopJit, CarriesThatStayAsTheyAreMayBeLarge) {
  const auto f = [](bool stacked) {
    return [stacked](const Tensor& large, const Tensor& xs) {
      const auto [last, ys] = scan(
          [&](const auto& c, const Tensor& x) {
            const Tensor next = c.second + x;
            return std::pair{std::pair{c.first, next}, std::pair{stacked ? c.first : x, next}};
          },
          std::pair{large, Tensor(0.5F)}, xs);
      return std::vector<Tensor>{last.first, last.second, ys.first, ys.second};
    };
  };
  check("a result", f(false), 1, drawn({100}, 1), drawn({5}, 2));
  check("stacked", f(true), 0, drawn({100}, 1), drawn({5}, 2));
}

TEST_F(LoopJit, FusionSaysWhichLoopsAreOneKernelAndWhyOthersAreNot) {
  const auto fused = [](const auto& f, const Tensor& x) { return function(f).lower(x).fusion(); };
  const auto doubled = [](const Tensor& x) {
    return while_loop([](const Tensor& c) { return sum(c) < 9; }, [](const Tensor& c) { return c * 2; }, x);
  };
  EXPECT_TRUE(has(fused(doubled, ones({})), "while -> 1 kernel"));
  EXPECT_TRUE(has(fused(doubled, ones({65})),
                  "while: runs its body call by call: a value has more elements than a loop holds in registers (64)"));
  EXPECT_TRUE(has(fused(doubled, ones({0})), "a value has no elements"));
  const auto sorted = [](const Tensor& x) {
    return while_loop([](const Tensor& c) { return sum(c) < 9; }, [](const Tensor& c) { return sort(c) * 2; }, x);
  };
  EXPECT_TRUE(has(fused(sorted, ones({4})), "the body calls sort, which is no step of a loop in machine code"));
}

}  // namespace
}  // namespace hone

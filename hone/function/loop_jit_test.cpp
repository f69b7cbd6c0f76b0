// Loops as one function of machine code: the bits of eager, and why a loop is none.
#include <gtest/gtest.h>

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
    if (std::memcmp(&u, &v, sizeof u) != 0 && !(u != u && v != v)) return false;
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

// Bodies over a carry and a row, both of one type; some change both.
struct Body {
  const char* name;
  std::function<Tensor(const Tensor&, const Tensor&)> f;
};
const std::vector<Body>& bodies() {
  static const std::vector<Body> list = {
      {"elementwise", [](const Tensor& c, const Tensor& x) { return tanh(c * 0.5 + x) - exp(-abs(x)); }},
      {"comparisons", [](const Tensor& c, const Tensor& x) { return where(c > x, c - x, maximum(c, x) + 1); }},
      {"types", [](const Tensor& c, const Tensor& x) { return cast(cast(c * 3, i32) ^ 5, x.dtype()) + x; }},
      {"sums", [](const Tensor& c, const Tensor& x) { return c * 0.5 + sum(x) - max(c) * 0.25; }},
      {"sums of rows", [](const Tensor& c, const Tensor& x) { return c + sum(x, 0, true) * 0.125 - min(c, -1, true); }},
      {"products", [](const Tensor& c, const Tensor& x) { return matmul(c, x) * 0.5 + x; }},
      {"transposes",
       [](const Tensor& c, const Tensor& x) {
         const Tensor parts[] = {c[slice(0, 1)], x};
         return transpose(c) + concatenate(parts, 0)[slice(0, x.dim(0))];
       }},
      {"branches",
       [](const Tensor& c, const Tensor& x) {
         return cond(
             sum(x) > sum(c), [&] { return c * 0.5 + x; },
             [&] { return cond(sum(x) > 0, [&] { return x; }, [&] { return -c; }); });
       }},
      {"cases",
       [](const Tensor& c, const Tensor& x) {
         return switch_case(cast(sum(c), i32), {[&] { return x; }, [&] { return c + x; }, [&] { return c * 0.5; }});
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
  for (const DType dtype : {f32, f64, f16, bf16, i32, i64, u8}) {
    for (const int64_t n : {1, 2, 3, 7}) {
      for (const int64_t length : {0, 1, 6}) {
        const Tensor init = drawn({n, n}, 1, dtype), xs = drawn({length, n, n}, 2, dtype);
        for (const Body& body : bodies()) {
          if (!is_floating(dtype) && std::string_view(body.name) == "elementwise") continue;
          check(
              std::string(body.name) + " of " + std::string(name(dtype)) + ", n " + std::to_string(n),
              [&](const Tensor& c, const Tensor& x) { return scanned(body, c, x, length == 6 && n == 3); }, 1, init,
              xs);
        }
      }
    }
  }
}

TEST_F(LoopJit, ALoopThatIsNoKernelSaysWhy) {
  const auto why = [](const auto& f) { return function(f).lower(ones({100, 8, 8})).kernels(); };
  EXPECT_TRUE(has(why([](const Tensor& x) { return fori_loop(0, 9, [](auto, const Tensor& c) { return c * 2; }, x); }),
                  "not cpu.loop: a value has more elements than a loop holds in registers (64)"));
}

}  // namespace
}  // namespace hone

// The kernel tables: the same bits at every level and from Scalar, in any split; error bounds over f32 (HONE_FULL=1:
// all inputs).
#include "hone/backend/cpu/isa.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "hone/backend/cpu/element_test_tools.h"
#include "hone/math/tile.h"

namespace hone {
namespace {

using elements::Bytes;
using elements::first_difference;
using elements::kBool;
using elements::kSizes;
using elements::operand;

namespace level = math::level;

/// What the tests need to know of an elementwise row.
struct Row {
  const char* name;
  int arity;
  bool predicate, select, mathematical;
  void (*scalar_f32)(const math::TileArgs&, int64_t, int64_t);
  void (*scalar_f64)(const math::TileArgs&, int64_t, int64_t);
};
template <class F, int kArity>
constexpr Row row(const char* name) {
  constexpr bool kSelect = std::is_same_v<F, level::Select>;
  Row result{name, kArity, level::kIsPredicate<F, kArity>, kSelect, false, nullptr, nullptr};
  if constexpr ((F::kTakes & level::kFloats) != 0) {
    result.scalar_f32 = &level::tile<level::Scalar, F, kArity, level::TileLane<F, float>>;
    result.scalar_f64 = &level::tile<level::Scalar, F, kArity, level::TileLane<F, double>>;
  }
  return result;
}
const Row kRows[] = {
#define ELEMENTWISE(name, arity, functor) row<level::functor, arity>(#name),
#include "hone/ops/ops.def"
};
int row_of(std::string_view name) {
  for (int i = 0; i < static_cast<int>(std::size(kRows)); ++i) {
    if (name == kRows[i].name) return i;
  }
  ADD_FAILURE() << "no row " << name;
  return 0;
}

struct Call {
  math::TileArgs args{};
  std::vector<Bytes> inputs;
  Call(const Row& row, int type, int64_t n) {
    for (int i = 0; i < row.arity; ++i)
      inputs.push_back(operand(row.select && i == 0 ? kBool : type, n, static_cast<uint64_t>(i) + 1));
    for (size_t i = 0; i < inputs.size(); ++i) args.in[i] = inputs[i].data();
    args.params[0] = 5;  // as an alpha, and as e5m10
    args.params[1] = 10;
  }
  Bytes operator()(math::TileFn tile, size_t item, int64_t n, int64_t begin, int64_t end) {
    Bytes out(static_cast<size_t>(n) * item, std::byte{0x55});
    args.out = out.data();
    tile(args, begin, end);
    return out;
  }
};

TEST(Isa, EveryRowGivesTheSameBitsAtEveryLevelAndFromScalar) {
  constexpr int64_t kBegin = 3;
  const math::Kernels& base = *kernels_at(IsaLevel::v2);
  for (size_t r = 0; r < std::size(kRows); ++r) {
    const Row& row = kRows[r];
    for (int type = 0; type < math::kElementTypes; ++type) {
      const math::TileFn tile = base.elementwise[r][type];
      if (!tile) continue;
      const int out_type = row.predicate ? kBool : type;
      for (int64_t n : {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 65, 1000}) {
        Call call(row, type, kBegin + n + 2);
        const Bytes expected = call(tile, kSizes[out_type], kBegin + n + 2, kBegin, kBegin + n);
        const auto check = [&](const char* who, math::TileFn other) {
          ASSERT_NE(other, nullptr) << row.name << " " << who;
          const int64_t at =
              first_difference(out_type, expected, call(other, kSizes[out_type], kBegin + n + 2, kBegin, kBegin + n));
          EXPECT_EQ(at, -1) << row.name << " of type " << type << " at " << who << ", " << n << " elements";
        };
        for (IsaLevel level : kIsaLevels) {
          if (const math::Kernels* kernels = kernels_at(level)) check(name(level), kernels->elementwise[r][type]);
        }
        if (type == 0 && row.scalar_f32) check("scalar", row.scalar_f32);
        if (type == 1 && row.scalar_f64) check("scalar", row.scalar_f64);
      }
    }
  }
}

TEST(Isa, EveryConversionGivesTheSameBitsAtEveryLevel) {
  for (int from = 0; from < math::kElementTypes; ++from) {
    for (int to = 0; to < math::kElementTypes; ++to) {
      const Bytes in = operand(from, 1003, 5);
      math::TileArgs args{};
      args.in[0] = in.data();
      const auto run = [&](IsaLevel level) {
        Bytes out(1003 * kSizes[to]);
        args.out = out.data();
        kernels_at(level)->convert[from][to](args, 1, 1002);
        return out;
      };
      const Bytes expected = run(IsaLevel::v2);
      for (IsaLevel level : kIsaLevels) {
        if (!kernels_at(level)) continue;
        EXPECT_EQ(first_difference(to, expected, run(level)), -1) << from << " to " << to << " at " << name(level);
      }
    }
  }
}

TEST(Isa, SplitsAndInPlaceChangeNothing) {
  for (size_t r = 0; r < std::size(kRows); ++r) {
    const Row& row = kRows[r];
    for (int type = 0; type < math::kElementTypes; ++type) {
      const math::TileFn tile = kernels().elementwise[r][type];
      if (!tile) continue;
      const int out_type = row.predicate ? kBool : type;
      Call call(row, type, 777);
      const Bytes whole = call(tile, kSizes[out_type], 777, 0, 777);
      Bytes parts(whole.size());
      call.args.out = parts.data();
      for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 13}, {13, 14}, {14, 600}, {600, 777}})
        tile(call.args, begin, end);
      EXPECT_EQ(first_difference(out_type, whole, parts), -1) << row.name << " of type " << type << " in parts";
      if (row.predicate) continue;
      call.args.out = call.inputs.back().data();
      tile(call.args, 0, 777);
      EXPECT_EQ(first_difference(out_type, whole, call.inputs.back()), -1)
          << row.name << " of type " << type << " in place";
    }
  }
}

TEST(Isa, RowsTakeTheTypesOfTheirFunctors) {
  const auto takes = [](const char* name, int type) { return kernels().elementwise[row_of(name)][type] != nullptr; };
  for (int type = 0; type < math::kElementTypes; ++type) {
    EXPECT_EQ(takes("exponential", type), type <= 3) << type;
    EXPECT_EQ(takes("shift_left", type), type > 3 && type < kBool) << type;
    EXPECT_EQ(takes("and_", type), type > 3) << type;
    EXPECT_EQ(takes("subtract", type), type < kBool) << type;
    EXPECT_TRUE(takes("select", type) && takes("equal", type)) << type;
  }
}

double ulp_error(float y, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(y) ? 0 : 1e9;
  if (std::isinf(exact) || std::isinf(y)) return y == rounded ? 0 : 1e9;
  const double magnitude = std::max(std::fabs(exact), 0x1p-126);
  return std::fabs(y - exact) / std::ldexp(1.0, std::min(std::ilogb(magnitude), 127) - 23);
}

TEST(Isa, FunctionsKeepTheirErrorBoundsOverAllFloats) {
  const struct {
    const char* name;
    double bound;
    double (*exact)(double);
  } cases[] = {{"exponential", 1.5, [](double x) { return std::exp(x); }},
               {"exponential_minus_one", 1.5, [](double x) { return std::expm1(x); }},
               {"log", 1.5, [](double x) { return std::log(x); }},
               {"log_plus_one", 1.5, [](double x) { return std::log1p(x); }},
               {"tanh", 1.5, [](double x) { return std::tanh(x); }},
               {"logistic", 1.5, [](double x) { return 1 / (1 + std::exp(-x)); }},
               {"erf", 2, [](double x) { return std::erf(x); }},
               {"sine", 2, [](double x) { return std::sin(x); }},
               {"cosine", 2, [](double x) { return std::cos(x); }},
               {"tan", 2, [](double x) { return std::tan(x); }},
               {"cbrt", 2, [](double x) { return std::cbrt(x); }},
               {"rsqrt", 2, [](double x) { return 1 / std::sqrt(x); }},
               {"sqrt", 0.5, [](double x) { return std::sqrt(x); }},
               {"erf_inv", 2, [](double x) { return level::erf_inv_double(x); }}};
  const bool full = std::getenv("HONE_FULL") != nullptr;
  const uint64_t stride = full ? 1 : 2039;
  constexpr int kBlock = 4096;
  std::vector<float> in(kBlock), out(kBlock);
  for (const auto& c : cases) {
    const math::TileFn tile = kernels().elementwise[row_of(c.name)][0];
    double worst = 0;
    float where = 0;
    for (uint64_t next = 0; next < uint64_t{1} << 32;) {
      int n = 0;
      for (; n < kBlock && next < uint64_t{1} << 32; next += stride)
        in[static_cast<size_t>(n++)] = std::bit_cast<float>(static_cast<uint32_t>(next));
      tile({{in.data()}, out.data(), {}}, 0, n);
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
        const double error = ulp_error(out[i], c.exact(in[i]));
        if (error > worst) worst = error, where = in[i];
      }
    }
    EXPECT_LE(worst, c.bound) << c.name << " at " << where;
    RecordProperty(c.name, std::to_string(worst));
    if (full) std::printf("%-22s %.4f ulp at %a\n", c.name, worst, static_cast<double>(where));
  }
}

TEST(IsaDeathTest, EnvironmentLowersTheLevel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("HONE_ISA", "v2", 1);
        std::exit(isa_level() == IsaLevel::v2 && &kernels() == kernels_at(IsaLevel::v2) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hone

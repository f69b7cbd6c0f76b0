// Machine code of clusters against the tiles: every row, type and level, and random clusters. The same bits, but that a
// NaN is only a NaN.
#include "hone/backend/cpu/map_code.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "hone/backend/cpu/element_test_tools.h"
#include "hone/base/settings.h"
#include "hone/ir/graph.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using elements::Bytes;
using elements::first_difference;
using elements::kSizes;
using elements::operand;

int type_of(const ir::Graph& body, ir::ValueId v) { return static_cast<int>(body.type(v).dtype); }

math::TileFn tile_of(const math::Kernels& level, const ir::Graph& body, const ir::Node& node) {
  const auto operands = body.operands(node);
  if (node.op == &ops::convert) return level.convert[type_of(body, operands[0])][type_of(body, node.first_result)];
  return level.elementwise[node.op->elementwise][type_of(body, operands[node.op == &ops::select ? 1 : 0])];
}

// What each value of a body is, by the tiles of v2.
std::vector<Bytes> by_tiles(const ir::Graph& body, const std::vector<Bytes>& inputs, int64_t n) {
  std::vector<Bytes> values(body.values());
  for (size_t i = 0; i < inputs.size(); ++i) values[body.inputs()[i].value] = inputs[i];
  for (const ir::Node& node : body.nodes()) {
    math::TileArgs args{};
    for (size_t i = 0; i < node.operands; ++i) args.in[i] = values[body.operands(node)[i]].data();
    if (node.attrs.type() == &attr_type<ParamAttrs>()) {
      args.params[0] = node.attrs.as<ParamAttrs>().a;
      args.params[1] = node.attrs.as<ParamAttrs>().b;
    }
    Bytes& out = values[node.first_result];
    out.resize(static_cast<size_t>(n) * kSizes[type_of(body, node.first_result)]);
    args.out = out.data();
    tile_of(*kernels_at(IsaLevel::v2), body, node)(args, 0, n);
  }
  return values;
}

// Machine code and tiles over `n` elements of seeded operands; the bytes behind the results stay as they are.
void check(const ir::Graph& body, const MapCode& code, int64_t n, const std::string& what) {
  constexpr std::byte kGuard{0x55};
  std::vector<Bytes> inputs, outputs;
  for (const ir::Input& input : body.inputs())
    inputs.push_back(operand(type_of(body, input.value), n, 3 * static_cast<uint64_t>(n) + inputs.size() + 1));
  const std::vector<Bytes> expected = by_tiles(body, inputs, n);
  std::vector<void*> pointers;
  for (Bytes& input : inputs) pointers.push_back(input.data());
  for (const ir::ValueId output : body.outputs())
    outputs.emplace_back((static_cast<size_t>(n) + 1) * kSizes[type_of(body, output)], kGuard);
  for (Bytes& output : outputs) pointers.push_back(output.data());
  code.run(pointers, n);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ir::ValueId v = body.outputs()[i];
    const size_t item = kSizes[type_of(body, v)];
    for (size_t k = outputs[i].size() - item; k < outputs[i].size(); ++k)
      ASSERT_EQ(outputs[i][k], kGuard) << what << ": writes behind result " << i << " of " << n;
    outputs[i].resize(outputs[i].size() - item);
    ASSERT_EQ(first_difference(type_of(body, v), expected[v], outputs[i]), -1)
        << what << ": result " << i << " of " << n << " elements";
  }
}

// At every level that this machine has.
void check_levels(const ir::Graph& body, std::span<const int64_t> counts, const std::string& what) {
  for (const IsaLevel level : kIsaLevels) {
    if (!kernels_at(level)) continue;
    const std::shared_ptr<MapCode> code = MapCode::of(body, level);
    ASSERT_TRUE(code->compile()) << what << " at " << name(level);
    for (const int64_t n : counts) check(body, *code, n, what + " at " + name(level));
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Up to two vectors and a bit, then what has all special values.
std::vector<int64_t> counts_for(size_t item) {
  std::vector<int64_t> counts;
  for (int64_t n = 1; n <= 2 * codegen::kVectorBytes / static_cast<int64_t>(item) + 3; ++n) counts.push_back(n);
  counts.push_back(2000);
  return counts;
}

// Whether operands (select's branches) may be of the type.
bool takes(const Op& op, int type) {
  return kernels().elementwise[op.elementwise][type] && (&op == &ops::select || (op.dtypes >> type & 1) != 0);
}

Attrs attrs_for(const Op& op, double a = 5, double b = 10) {
  return op.attrs == &attr_type<ParamAttrs>() ? Attrs(ParamAttrs{a, b}) : Attrs();
}

TEST(MapCode, EveryRowHasTheBitsOfItsTile) {
  if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  ensure_defaults();
  for (const Op* op : op_table()) {
    if (op->elementwise < 0) continue;
    for (int type = 0; type < math::kElementTypes; ++type) {
      if (!takes(*op, type)) continue;
      const auto dtype = static_cast<DType>(type);
      ir::Builder builder(std::make_shared<ir::Context>());
      std::vector<ir::ValueId> inputs;
      for (int i = 0; i < op->min_inputs; ++i)
        inputs.push_back(builder.add_input({op == &ops::select && i == 0 ? bool_ : dtype, {1}}, {}));
      const Attrs attrs = attrs_for(*op);
      const ir::ValueId result = builder.add_one(*op, attrs, inputs, 0);
      check_levels(builder.finish({result}), counts_for(kSizes[type]),
                   std::string(op->name) + " of " + std::string(name(dtype)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(MapCode, EveryConversionHasTheBitsOfItsTile) {
  if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  ensure_defaults();
  for (int from = 0; from < math::kElementTypes; ++from) {
    for (int to = 0; to < math::kElementTypes; ++to) {
      ir::Builder builder(std::make_shared<ir::Context>());
      const ir::ValueId x = builder.add_input({static_cast<DType>(from), {1}}, {});
      const Attrs attrs{DTypeAttrs{static_cast<DType>(to)}};
      const ir::ValueId result = builder.add_one(ops::convert, attrs, {&x, 1}, 0);
      check_levels(builder.finish({result}), counts_for(std::max(kSizes[from], kSizes[to])),
                   std::string(name(static_cast<DType>(from))) + " to " + std::string(name(static_cast<DType>(to))));
      if (HasFatalFailure()) return;
    }
  }
}

struct Random {
  uint64_t state;
  size_t below(size_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<size_t>(state >> 33) % n;
  }
};

// Calls on what is there already, conversions where types must meet; several results.
ir::Graph random_body(uint64_t seed, size_t calls) {
  Random random{seed};
  std::vector<const Op*> rows;
  for (const Op* op : op_table()) {
    if (op->elementwise >= 0) rows.push_back(op);
  }
  ir::Builder builder(std::make_shared<ir::Context>());
  std::vector<ir::ValueId> values;
  const size_t inputs = 1 + random.below(4);
  for (size_t i = 0; i < inputs; ++i)
    values.push_back(builder.add_input({static_cast<DType>(random.below(math::kElementTypes)), {1}}, {}));
  const auto type = [&](ir::ValueId v) { return static_cast<int>(builder.graph().type(v).dtype); };
  const auto as = [&](ir::ValueId v, int wanted) {
    if (type(v) == wanted) return v;
    const Attrs attrs{DTypeAttrs{static_cast<DType>(wanted)}};
    return builder.add_one(ops::convert, attrs, {&v, 1}, 0);
  };
  while (builder.graph().nodes().size() < calls) {
    const Op& op = *rows[random.below(rows.size())];
    std::vector<ir::ValueId> operands;
    for (int i = 0; i < op.min_inputs; ++i) {
      // Late values more often, so that chains get long.
      const size_t back = std::min(random.below(values.size()), random.below(values.size()));
      operands.push_back(values[values.size() - 1 - back]);
    }
    const int wanted = type(operands[op.min_inputs > 1 ? 1 : 0]);
    if (!takes(op, wanted)) continue;
    for (size_t i = 0; i < operands.size(); ++i)
      operands[i] = as(operands[i], &op == &ops::select && i == 0 ? elements::kBool : wanted);
    const Attrs attrs = attrs_for(op, static_cast<double>(2 + random.below(6)), static_cast<double>(random.below(20)));
    values.push_back(builder.add_one(op, attrs, operands, 0));
  }
  const ir::Users users(builder.graph());
  std::vector<ir::ValueId> outputs;
  for (const ir::Node& node : builder.graph().nodes()) {
    if (users.of(node.first_result).empty() || random.below(6) == 0) outputs.push_back(node.first_result);
  }
  return builder.finish(std::move(outputs));
}

TEST(MapCode, RandomClustersHaveTheBitsOfTheirTiles) {
  if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  ensure_defaults();
  const int64_t counts[] = {1, 15, 16, 33, 64, 67, 256, 700};
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    const size_t calls = 2 + seed % 29;
    check_levels(random_body(seed, calls), counts, "cluster " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

// x * x + y, relu(x * x)
ir::Graph small_body(DType dtype, Shape shape, double alpha = 0.5) {
  ir::Builder builder(std::make_shared<ir::Context>());
  const ir::ValueId in[] = {builder.add_input({dtype, shape}, {}), builder.add_input({dtype, shape}, {})};
  const ir::ValueId square = builder.add_one(ops::multiply, {}, std::array{in[0], in[0]}, 0);
  const ir::ValueId sum = builder.add_one(ops::add, {}, std::array{square, in[1]}, 0);
  const Attrs attrs{ParamAttrs{alpha, 0}};
  const ir::ValueId leaky = builder.add_one(ops::leaky_relu, attrs, {&square, 1}, 0);
  return builder.finish({sum, leaky});
}

TEST(MapCode, ResultsMayLieWhereOperandsDo) {
  if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  const ir::Graph body = small_body(f32, {1});
  const std::shared_ptr<MapCode> code = MapCode::of(body);
  ASSERT_TRUE(code->compile());
  for (const int64_t n : {5, 16, 37, 1000}) {
    std::vector<Bytes> arrays = {operand(0, n, 1), operand(0, n, 2)};
    const std::vector<Bytes> expected = by_tiles(body, arrays, n);
    void* const pointers[] = {arrays[0].data(), arrays[1].data(), arrays[1].data(), arrays[0].data()};
    code->run(pointers, n);
    EXPECT_EQ(first_difference(0, expected[body.outputs()[0]], arrays[1]), -1) << n;
    EXPECT_EQ(first_difference(0, expected[body.outputs()[1]], arrays[0]), -1) << n;
  }
}

TEST(MapCode, SplatsAreReadAsOneElement) {
  if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  constexpr int64_t kCounts[] = {1, 3, 64, 129, 1000};
  for (const DType dtype : {f32, f64, bf16, f16}) {
    const ir::Graph body = small_body(dtype, {1});
    const int type = static_cast<int>(dtype);
    for (const uint64_t splats : {1, 2, 3}) {
      for (const IsaLevel level : kIsaLevels) {
        if (!kernels_at(level)) continue;
        const std::shared_ptr<MapCode> code = MapCode::of(body, level, splats);
        EXPECT_NE(code, MapCode::of(body, level));
        ASSERT_TRUE(code->compile());
        for (const int64_t n : kCounts) {
          std::vector<Bytes> given = {operand(type, n, 1), operand(type, n, 2)}, repeated = given;
          for (size_t i = 0; i < 2; ++i) {
            if (!codegen::splat(splats, i)) continue;
            given[i].resize(kSizes[type]);
            for (size_t k = 0; k < repeated[i].size(); ++k) repeated[i][k] = given[i][k % kSizes[type]];
          }
          const std::vector<Bytes> expected = by_tiles(body, repeated, n);
          std::vector<Bytes> results(2, Bytes(static_cast<size_t>(n) * kSizes[type]));
          void* const pointers[] = {given[0].data(), given[1].data(), results[0].data(), results[1].data()};
          code->run(pointers, n);
          for (size_t i = 0; i < 2; ++i) {
            ASSERT_EQ(first_difference(type, expected[body.outputs()[i]], results[i]), -1)
                << name(dtype) << " splats " << splats << " at " << name(level) << ", " << n << " elements";
          }
        }
      }
    }
  }
}

// Rows: their largest element or w, exp of the distance, its sum, the quotient; the logarithm of the sum by row.
ir::Graph row_body(DType dtype, int64_t rows, int64_t n) {
  ir::Builder builder(std::make_shared<ir::Context>());
  const auto call = [&](const Op& op, AttrRef attrs, std::initializer_list<ir::ValueId> in) {
    return builder.add_one(op, attrs, {in.begin(), in.size()}, 0);
  };
  const Attrs last{AxesAttrs{{1}}}, spread{BroadcastAttrs{{rows, n}, {0}}};
  const ir::ValueId x = builder.add_input({dtype, {rows, n}}, {}), y = builder.add_input({dtype, {rows, n}}, {}),
                    w = builder.add_input({dtype, {rows}}, {});
  const ir::ValueId high = call(ops::maximum, {}, {call(ops::reduce_max, last, {x}), w});
  const ir::ValueId e =
      call(ops::exponential, {}, {call(ops::subtract, {}, {x, call(ops::broadcast_in_dim, spread, {high})})});
  const ir::ValueId sum = call(ops::reduce_sum, last, {e}),
                    least = call(ops::reduce_min, last, {call(ops::add, {}, {e, y})});
  const ir::ValueId quotient = call(ops::divide, {}, {e, call(ops::broadcast_in_dim, spread, {sum})});
  return builder.finish({quotient, call(ops::multiply, {}, {call(ops::log, {}, {sum}), least})});
}

TEST(MapCode, RowsHaveTheBitsOfTheirCallsAtEveryLevel) {
  if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  ensure_defaults();
  constexpr int64_t kRows = 3;
  for (const DType dtype : {f32, f64, f16, bf16}) {
    const int type = static_cast<int>(dtype);
    const auto item = static_cast<int64_t>(kSizes[type]);
    for (const IsaLevel level : kIsaLevels) {
      if (!kernels_at(level)) continue;
      const std::shared_ptr<MapCode> code = MapCode::of(row_body(dtype, kRows, 8), level);
      ASSERT_TRUE(code->compile());
      ASSERT_EQ(code->kept().size(), 1U) << "the exponential alone is worth keeping";
      for (const int64_t n : {2, 7, 31, 63, 64, 65, 255, 257, 1000, 4096, 4097, 12301, 16384}) {
        const ir::Graph body = row_body(dtype, kRows, n);
        std::vector<Bytes> arrays = {operand(type, kRows * n, 1), operand(type, kRows * n, 2), operand(type, kRows, 3)};
        std::vector<Tensor> inputs;
        for (size_t i = 0; i < arrays.size(); ++i) {
          inputs.push_back(Tensor::empty(body.type(body.inputs()[i].value)));
          std::memcpy(inputs[i].mutable_bytes(), arrays[i].data(), arrays[i].size());
        }
        const std::vector<Tensor> expected = ir::interpret(body, inputs);
        arrays.emplace_back(kRows * n * item + 1, std::byte{0x55});
        arrays.emplace_back(kRows * item + 1, std::byte{0x55});
        arrays.emplace_back(n * item + codegen::kVectorBytes);
        std::vector<void*> pointers;
        for (Bytes& array : arrays) pointers.push_back(array.data());
        const int64_t strides[] = {n * item, n * item, item, n * item, item};
        code->run_rows(pointers, strides, kRows, n);
        for (size_t i = 0; i < 2; ++i) {
          Bytes& got = arrays[3 + i];
          ASSERT_EQ(got.back(), std::byte{0x55}) << "writes behind result " << i;
          got.pop_back();
          const auto* const raw = static_cast<const std::byte*>(expected[i].raw());
          ASSERT_EQ(first_difference(type, Bytes(raw, raw + got.size()), got), -1)
              << name(dtype) << " at " << name(level) << ", result " << i << ", rows of " << n;
        }
      }
    }
  }
}

TEST(MapCode, EqualClustersShareCode) {
  const std::shared_ptr<MapCode> code = MapCode::of(small_body(f32, {4}));
  EXPECT_EQ(code, MapCode::of(small_body(f32, {3, 7}))) << "shapes are not part of the code";
  EXPECT_NE(code, MapCode::of(small_body(f64, {4})));
  EXPECT_NE(code, MapCode::of(small_body(f32, {4}, 0.25))) << "attributes are";
  EXPECT_NE(code, MapCode::of(small_body(f32, {4}), isa_level() == IsaLevel::v2 ? IsaLevel::v3 : IsaLevel::v2));
  if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  const int64_t before = map_code_counts().compiled;
  EXPECT_TRUE(code->compile());
  EXPECT_TRUE(MapCode::of(small_body(f32, {5}))->compile());
  EXPECT_EQ(map_code_counts().compiled, before + 1);
}

size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

TEST(MapCode, MemoryStaysFlatOverClusters) {
  if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  ensure_defaults();
  size_t before = 0;
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(MapCode::of(small_body(f32, {4}, 1 + i))->compile());
    if (i == 150) before = resident_bytes();
  }
  EXPECT_LT(resident_bytes(), before + (size_t{8} << 20));
}

// Computes random clusters, by code that is made (`warm` false) or found.
int compute_from_cache(bool warm) {
  ensure_defaults();
  settings.code_cache_folder = std::getenv("HONE_TEST_FOLDER");
  const int64_t counts[] = {1, 33, 700};
  for (uint64_t seed = 1; seed <= 12; ++seed) check_levels(random_body(seed, 3 + seed), counts, "cached cluster");
  if (testing::Test::HasFailure()) return 1;
  if (codegen::generator_asked() == warm) return 2;
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  return (text.find("libhone-jit") == std::string::npos) == warm ? 0 : 3;
}

TEST(MapCodeDeathTest, AWarmProcessHasTheSameBitsAndDoesNotLoadTheGenerator) {
  if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::string folder = testing::TempDir() + "hone-warm-XXXXXX";
  if (!std::getenv("HONE_TEST_FOLDER")) {
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    setenv("HONE_TEST_FOLDER", folder.c_str(), 1);
  }
  EXPECT_EXIT(std::exit(compute_from_cache(false)), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(compute_from_cache(true)), testing::ExitedWithCode(0), "");
  std::filesystem::remove_all(folder);
  unsetenv("HONE_TEST_FOLDER");
}

}  // namespace
}  // namespace hone

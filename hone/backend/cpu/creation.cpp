// iota, random bits, conversion.
#include <algorithm>
#include <array>
#include <cstring>

#include "hone/backend/cpu/box.h"
#include "hone/backend/cpu/fused.h"
#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/isa.h"
#include "hone/backend/cpu/map_works.h"
#include "hone/backend/cpu/movement.h"
#include "hone/base/parallel.h"
#include "hone/base/philox.h"
#include "hone/math/nn_works.h"
#include "hone/ops/combine.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"
#include "hone/ops/views.h"

namespace hone {
namespace {

constexpr int64_t kGrain = 16384;  // elements that are worth a thread

template <class T>
T counted(int64_t i) {
  return narrow<T>(static_cast<ComputeOf<T>>(i));
}

template <class T>
void iota_rows(T* out, int64_t n, int64_t inner, int64_t begin, int64_t end) {
  int64_t i = begin % n;
  for (int64_t row = begin; row < end; ++row) {
    std::fill_n(out + row * inner, inner, counted<T>(i));
    if (++i == n) i = 0;
  }
}

void iota(const KernelCall& call) {
  const auto& attrs = call.attrs.as<IotaAttrs>();
  const Shape& shape = call.out_shape();
  if (shape.count() == 0) return;
  int64_t inner = 1;
  for (int i = static_cast<int>(attrs.axis) + 1; i < shape.rank(); ++i) inner *= shape[i].number();
  const int64_t n = shape[attrs.axis].number();
  parallel_for(
      shape.count() / inner, std::max<int64_t>(1, kGrain / inner),
      [&](int64_t begin, int64_t end) {
        visit_dtype(attrs.dtype, [&](auto kind) { iota_rows(call.out<decltype(kind)>(), n, inner, begin, end); });
      },
      1);
}

// Element i is word i % 4 of block counter + i / 4; of 64-bit elements, words 2i and 2i + 1.
void rng_bit_generator(const KernelCall& call) {
  const std::array<uint64_t, 2> state = {call.in<uint64_t>(0)[0], call.in<uint64_t>(0)[1]};
  const auto words = static_cast<int64_t>(call.outputs[1].bytes() / sizeof(uint32_t)), blocks = (words + 3) / 4;
  const Philox philox(state[0]);
  parallel_for(blocks, kGrain / 8, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const Philox::Block block = philox.at(state[1] + static_cast<uint64_t>(b));
      std::memcpy(call.out<uint32_t>(1) + 4 * b, block.data(),
                  sizeof(uint32_t) * static_cast<size_t>(std::min<int64_t>(4, words - 4 * b)));
    }
  });
  call.out<uint64_t>(0)[0] = state[0];
  call.out<uint64_t>(0)[1] = state[1] + static_cast<uint64_t>(blocks);
}

Works iota_works(const KernelQuery& query) {
  const Shape& shape = query.outputs[0].shape;
  const int64_t axis = query.attrs.as<IotaAttrs>().axis;
  math::AxisParams p{1, 1};
  if (shape.count() == 0) return {};
  p.extent = shape[axis].number();
  for (int i = static_cast<int>(axis) + 1; i < shape.rank(); ++i) p.inner *= shape[i].number();
  const DType dtype = query.outputs[0].dtype;
  const size_t item = size_of(dtype);
  const math::WorkId id = dtype == f32   ? math::WorkId::IotaF32
                          : dtype == f64 ? math::WorkId::IotaF64
                          : item == 1    ? math::WorkId::Iota8
                          : item == 2    ? math::WorkId::Iota16
                          : item == 4    ? math::WorkId::Iota32
                                         : math::WorkId::Iota64;
  return one_work(query, id, p, shape.count() / p.inner, std::max<int64_t>(1, kGrain / p.inner));
}
Works random_works(const KernelQuery& query) {
  const TensorType& bits = query.outputs[1];
  const int64_t words = bits.shape.count() * static_cast<int64_t>(size_of(bits.dtype) / sizeof(uint32_t));
  return one_work(query, math::WorkId::RandomBits, words, std::max<int64_t>(1, (words + 63) / 64), kGrain / 128);
}

// Runs of a tensor whose rows are padded (a borrowed image).
void convert_rows(const KernelCall& call, math::TileFn tile) {
  const Tensor& x = call.inputs[0];
  const Ints strides = x.layout().strides;
  int axis = x.rank();
  int64_t run = 1;
  while (axis > 0 && (strides[axis - 1] == run || x.shape()[axis - 1] == Dim(1))) run *= x.shape()[--axis].number();
  if (run == 0 || x.size() == 0) return;
  parallel_for(
      x.size() / run, std::max<int64_t>(1, kGrain / run),
      [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          int64_t offset = 0;
          for (int64_t i = axis - 1, rest = row; i >= 0; --i) {
            offset += rest % x.shape()[i].number() * strides[i];
            rest /= x.shape()[i].number();
          }
          const math::TileArgs args{
              {call.in<std::byte>(0) + offset * static_cast<int64_t>(size_of(x.dtype())), nullptr, nullptr},
              call.out<std::byte>() + row * run * static_cast<int64_t>(size_of(call.outputs[0].dtype())),
              {}};
          tile(args, 0, run);
        }
      },
      1);
}

void convert(const KernelCall& call) {
  const Tensor &x = call.inputs[0], &out = call.outputs[0];
  const math::TileFn tile = kernels().convert[static_cast<int>(x.dtype())][static_cast<int>(out.dtype())];
  const math::TileArgs args{{call.in<std::byte>(0), nullptr, nullptr}, call.out<std::byte>(), {}};
  if (x.layout().dense)
    return parallel_for(x.size(), kGrain, [&](int64_t begin, int64_t end) { tile(args, begin, end); });
  if (!is_splat(x) || x.size() == 0) return convert_rows(call, tile);
  std::array<std::byte, 8> one{};
  tile({{call.in<std::byte>(0), nullptr, nullptr}, one.data(), {}}, 0, 1);
  fill_box(call.out<std::byte>(), one.data(), {out.size()}, {1}, size_of(out.dtype()));
}

}  // namespace

void install_cpu_creation() {
  add_kernels(ops::iota, {{.name = "cpu.iota", .run = iota, .works = fused_works<iota_works>}});
  add_kernels(ops::rng_bit_generator, {{.name = "cpu.philox", .run = rng_bit_generator, .works = random_works}});
}

void install_cpu_convert() {
  add_kernels(ops::convert, {{.name = "cpu.convert", .run = convert, .works = map_works, .reads_strides = true}});
}

}  // namespace hone

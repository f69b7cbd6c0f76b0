#include "hone/compiler/rule_domain.h"

#include <algorithm>
#include <cstring>

#include "hone/tensor/half.h"

namespace hone::compiler::domain {

ir::Graph graph(std::initializer_list<TensorType> inputs, const Make& make) {
  ir::Builder builder(std::make_shared<ir::Context>());
  std::vector<ir::ValueId> values;
  for (const TensorType& type : inputs) values.push_back(builder.add_input(type, {}));
  const ir::ValueId result = make(builder, values);
  return builder.finish({result});
}

ir::ValueId constant(ir::Builder& b, const TensorType& type, double value) {
  const int64_t bits = visit_dtype(type.dtype, [&](auto kind) {
    using T = decltype(kind);
    T element;
    if constexpr (std::is_same_v<T, Float16>)
      element = to_float16(static_cast<float>(value));
    else if constexpr (std::is_same_v<T, BFloat16>)
      element = to_bfloat16(static_cast<float>(value));
    else
      element = static_cast<T>(value);
    int64_t out = 0;
    std::memcpy(&out, &element, sizeof element);
    return out;
  });
  return call(b, ops::constant, ConstantAttrs{type.dtype, type.shape, bits}, {});
}

std::vector<Shape> shapes(int rank) {
  std::vector<Shape> all{Shape{}};
  for (size_t begin = 0; rank > 0; --rank) {
    const size_t end = all.size();
    for (size_t i = begin; i < end; ++i) {
      for (const int64_t extent : {0, 1, 2, 3}) {
        Shape longer = all[i];
        longer.push_back(extent);
        all.push_back(longer);
      }
    }
    begin = end;
  }
  return all;
}

std::vector<Ints> permutations(int rank) {
  Ints order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  std::vector<Ints> all;
  do {
    all.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

}  // namespace hone::compiler::domain

#include "hone/data/value.h"

#include <fmt/format.h>

#include "hone/base/error.h"

namespace hone::data {
namespace {

void check_defined(const Tensor& tensor, size_t component) {
  if (tensor.defined()) return;
  throw Error(Code::kInvalidArgument,
              {.what = fmt::format("component {} of an element is a Tensor that was never set", component),
               .fix = "return a tensor with a value from the map function"});
}

[[noreturn]] void throw_uneven(const Tensor& first, const Tensor& other, size_t row, size_t component) {
  throw Error(Code::kInvalidArgument,
              {.what = "elements of different shapes or dtypes cannot form a batch",
               .details = {fmt::format("component {}: element 0 of the batch is {}, element {} is {}", component,
                                       to_string(first.type()), row, to_string(other.type()))},
               .fix = "give all elements one shape in a map before batch, or use batch(1)"});
}

}  // namespace

std::string to_string(const ElementSpec& spec) {
  std::string text;
  for (const ComponentSpec& component : spec) {
    text += text.empty() ? "" : ", ";
    if (component.kind == "Tensor")
      text += to_string(component.tensor);
    else if (component.kind == "number")
      text += name(component.tensor.dtype);
    else
      text += component.kind;
  }
  return "(" + text + ")";
}

ComponentSpec tensor_spec(const Tensor& tensor) {
  check_defined(tensor, 0);
  return {"Tensor", tensor.type()};
}

size_t tensor_bytes(const Tensor& tensor) { return tensor.defined() ? tensor.bytes() : 0; }

Tensor stack_rows(std::span<Element> rows, size_t component) {
  const Tensor& first = rows[0][component].get<Tensor>();
  check_defined(first, component);
  TensorType type = first.type();
  type.shape.insert(0, static_cast<int64_t>(rows.size()));
  Tensor out = Tensor::empty(type);
  std::byte* to = out.mutable_bytes();
  const size_t bytes = first.bytes();
  for (size_t i = 0; i < rows.size(); ++i) {
    const Tensor& row = rows[i][component].get<Tensor>();
    check_defined(row, component);
    if (!(row.type() == first.type())) throw_uneven(first, row, i, component);
    if (bytes) std::memcpy(to, row.raw(), bytes);
    to += bytes;
  }
  return out;
}

Element collate(std::span<Element> rows) {
  Element batch;
  for (size_t component = 0; component < rows[0].size(); ++component) {
    batch.push_back(rows[0][component].type().collate(rows, component));
  }
  return batch;
}

}  // namespace hone::data

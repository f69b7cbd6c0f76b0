#include "hone/ops/family.h"

#include "hone/ops/creation.h"

namespace hone::family {

Tensor cotangent(const VjpContext& c, int i) {
  return c.ct(i).defined() ? c.ct(i) : zeros(c.out_type(i).shape, c.out_type(i).dtype);
}

void check_same_types(InferContext& c, int first) {
  for (int i = first + 1; i < c.inputs(); ++i) {
    if (c.dtype(i) != c.dtype(first)) c.fail("dtype mismatch", {}, "convert one operand: cast(x, dtype)");
    if (!(c.shape(i) == c.shape(first)))
      c.fail("shape mismatch", "operands must have one shape", "broadcast or reshape one of them");
  }
}

void infer_unary(InferContext& c) {
  c.check_dtype();
  c.out() = c.in(0);
}

void infer_binary(InferContext& c) {
  c.check_dtype();
  check_same_types(c);
  c.out() = c.in(0);
}

void infer_compare(InferContext& c) {
  infer_binary(c);
  c.out().dtype = bool_;
}

std::vector<Sample> with_attrs(std::vector<Sample> samples, const Attrs& attrs) {
  for (Sample& sample : samples) sample.attrs = attrs;
  return samples;
}

std::vector<Sample> elementwise_samples(int operands, double low, double high, DType dtype) {
  std::vector<Sample> samples;
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{3}, Shape{4}, Shape{5}, Shape{7}, Shape{8}, Shape{9},
                             Shape{15}, Shape{16}, Shape{17}, Shape{2, 3}, Shape{3, 1, 5}, Shape{67, 33}}) {
    samples.push_back({.inputs = std::vector<TensorType>(static_cast<size_t>(operands), TensorType{dtype, shape}),
                       .low = low,
                       .high = high});
  }
  return samples;
}

namespace {
double total_bytes(std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  double bytes = 0;
  for (const TensorType* type : inputs)
    bytes += static_cast<double>(type->shape.count()) * static_cast<double>(size_of(type->dtype));
  for (const TensorType& type : outputs)
    bytes += static_cast<double>(type.shape.count()) * static_cast<double>(size_of(type.dtype));
  return bytes;
}
}  // namespace

Cost elementwise_cost(AttrRef, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  return {static_cast<double>(outputs[0].shape.count()), total_bytes(inputs, outputs)};
}

Cost movement_cost(AttrRef, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  return {0, total_bytes(inputs, outputs)};
}

}  // namespace hone::family

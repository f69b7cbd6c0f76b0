// The samples of the op table as test cases, with deterministic inputs.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hone/base/settings.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"
#include "hone/tensor/op.h"

namespace hone::conformance {

/// One sample of one op.
struct Case {
  const Op& op;
  int number;
  Sample sample;
  /// "sdpa, sample 3: f32[2,4,8] f32[2,4,8] {scale = 1}", what failing tests print.
  std::string label() const;
  /// The attributes hold programs over these very types: no other dtype serves.
  bool fixed_types() const { return !regions_of(sample.attrs).empty(); }
  /// Decides by a value that it reads on the host. Under vmap, and in gradients of what is being recorded, there is no
  /// such value: these ops have no rule for them yet.
  bool reads_values() const { return op.attrs == &attr_type<BranchAttrs>() || op.attrs == &attr_type<LoopAttrs>(); }
  /// Results of the call: where neither op nor sample says, one an operand (sort, optimization_barrier).
  int outputs() const {
    return op.outputs >= 0 ? op.outputs : sample.outputs > 0 ? sample.outputs : static_cast<int>(sample.inputs.size());
  }
};

/// Every sample of every op, in the table's order.
const std::vector<Case>& cases();

/// Values from Philox, keyed by op, sample and operand: floats in [low, high], integers among the range's integers,
/// bools either.
std::vector<Tensor> draw(const Case& c, std::span<const TensorType> types);
inline std::vector<Tensor> draw(const Case& c) { return draw(c, c.sample.inputs); }
/// Uniform numbers in [-1, 1) as f64.
Tensor noise(const Shape& shape, uint64_t key);

/// Through the interpreter stack. The inputs stay the caller's.
std::vector<Tensor> run(const Case& c, const std::vector<Tensor>& inputs);
/// What infer says about these inputs.
std::vector<TensorType> inferred(const Case& c, std::span<const TensorType> inputs);
/// The sample's types with operand 0 of `dtype`, and with it the operands that share its kind; without them where the
/// op wants them as they are (statistics stay f32).
std::vector<TensorType> retyped(const Case& c, DType dtype);
std::vector<TensorType> types_of(std::span<const Tensor> tensors);

/// Elements as f64; 64-bit integers may round.
std::vector<double> numbers(const Tensor& x);
/// "" for equal types and bits (NaN equals NaN), else the first place that differs.
std::string difference(std::span<const Tensor> got, std::span<const Tensor> expected);
/// The same within `tolerance` times the magnitude of the tensor's largest finite element (floats only; others
/// exactly).
std::string difference(std::span<const Tensor> got, std::span<const Tensor> expected, double tolerance);

/// The reference back end serves every op while this lives.
class ReferenceKernels {
 public:
  ReferenceKernels() { settings.reference_kernels = true; }
  ~ReferenceKernels() { settings.reference_kernels = false; }
  ReferenceKernels(const ReferenceKernels&) = delete;
  ReferenceKernels& operator=(const ReferenceKernels&) = delete;
};

}  // namespace hone::conformance

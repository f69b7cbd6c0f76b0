// What the definitions of control flow share. Internal to ops.
#pragma once
#include <string_view>
#include <vector>

#include "hone/ir/region.h"
#include "hone/ops/attrs.h"

namespace hone::control {

/// "f32[2], i32[]", or "nothing".
std::string types_text(std::span<const TensorType> types);
std::vector<TensorType> operand_types(const InferContext& c, int first, int last);
/// Fails unless the lists are equal.
void check_types(InferContext& c, std::string_view what, const std::vector<TensorType>& got,
                 const std::vector<TensorType>& expected);
std::shared_ptr<const Region> sample_region(
    const std::shared_ptr<ir::Context>& context, std::span<const TensorType> types,
    const std::function<std::vector<ir::ValueId>(ir::Builder&, std::span<const ir::ValueId>)>& build);

inline TensorType with_rows(TensorType type, Dim rows) {
  type.shape.insert(0, rows);
  return type;
}

/// Calls a recorded body: attrs has all but it. Operands and results are those of the op, without what the body
/// captured.
std::vector<Tensor> call_scan(ScanAttrs attrs, const ir::RegionProgram& body, std::vector<Tensor> operands,
                              Location location);
/// Records `step` over (carries, rows, constants) and runs it as a scan: attrs has all but the body. Operands: the
/// carries, the xs, the constants. Gives the last carries and the ys.
std::vector<Tensor> run_scan(ScanAttrs attrs, std::vector<Tensor> operands, const ir::RegionBody& step,
                             Location location);

// Gradient and batching rules (control_grad.cpp, scan_grad.cpp, batch_control.cpp).
void vjp_if(VjpContext& c);
void vjp_while(VjpContext& c);
void vjp_scan(VjpContext& c);
Keeping keep_if(const Call& call, const std::vector<bool>& followed);
Keeping keep_scan(const Call& call, const std::vector<bool>& followed);
bool batch_if(BatchContext& c);
bool batch_while(BatchContext& c);
bool batch_scan(BatchContext& c);

}  // namespace hone::control

// Gradient of scan: one scan the other way. The forward scan runs again to stack the carries before each row (in a
// graph it becomes one with the first, merge_scans), and each step back computes its row again.
#include "hone/ops/control_types.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/region_vjp.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone::control {
namespace {

// Where the operands of the scan back stand: cotangents of the carries, sums of the constants' gradients; then by row
// the carries before it, the xs and the cotangents of ys and of the history; then the constants.
class ScanBack {
 public:
  explicit ScanBack(VjpContext& c)
      : c_(c),
        a_(c.attrs_as<ScanAttrs>()),
        body_(ir::graph_of(a_.body[0])),
        carries_(static_cast<size_t>(a_.carries)),
        sequences_(static_cast<size_t>(a_.xs)),
        inputs_(static_cast<size_t>(c.inputs())),
        ys_(body_.outputs().size() - carries_),
        needed_(inputs_),
        location_(LocationScope::resolve({})) {
    for (size_t i = 0; i < inputs_; ++i) {
      const bool floating = is_floating(type(i).dtype);
      needed_[i] = floating && (i < carries_ || c.need(static_cast<int>(i)));
    }
  }

  void run() {
    const std::vector<Tensor> history = forward();
    std::vector<Tensor> carried, rows;
    for (size_t i = 0; i < carries_; ++i) {
      if (!needed_[i]) continue;
      const Tensor& ct = cotangent(i);
      carried.push_back(ct.defined() ? ct : zeros_like(in(i), location_));
    }
    for (size_t i = first_constant(); i < inputs_; ++i) {
      if (needed_[i]) carried.push_back(zeros_like(in(i), location_));
    }
    rows = history;
    for (size_t i = carries_; i < first_constant(); ++i) rows.push_back(in(i));
    for (size_t i = carries_; i < carries_ + ys_ + (a_.history ? carries_ : 0); ++i) {
      if (cotangent(i).defined()) rows.push_back(cotangent(i));
    }
    std::vector<TensorType> types = ir::types_of(carried);
    for (const Tensor& row : rows) {
      types.push_back(row.type());
      types.back().shape.erase(0);
    }
    std::vector<Tensor> all = carried;
    all.insert(all.end(), rows.begin(), rows.end());
    for (size_t i = first_constant(); i < inputs_; ++i) {
      all.push_back(in(i));
      types.push_back(in(i).type());
    }
    ir::Captures captures;
    const ir::RegionProgram program[] = {ir::record_region(
        std::make_shared<ir::Context>(), types,
        [&](std::span<const Tensor> values) { return step(values, carried.size(), rows.size()); }, location_)};
    const ScanAttrs attrs{ir::close(program, captures), a_.length, static_cast<int64_t>(carried.size()),
                          static_cast<int64_t>(rows.size()), !a_.reverse};
    all.insert(all.end(), captures.tensors().begin(), captures.tensors().end());
    std::vector<Tensor> results(ir::graph_of(attrs.body[0]).outputs().size());
    Call call{ops::scan, attrs, all, results, location_};
    dispatch(call);
    size_t at = 0, row = carried.size();
    for (size_t i = 0; i < inputs_; ++i) {
      if (needed_[i]) c_.set(static_cast<int>(i), results[is_sequence(i) ? row++ : at++]);
    }
  }

 private:
  const Tensor& in(size_t i) const { return c_.in(static_cast<int>(i)); }
  const Tensor& cotangent(size_t i) const { return c_.ct(static_cast<int>(i)); }
  const TensorType& type(size_t i) const { return c_.in_type(static_cast<int>(i)); }
  size_t first_constant() const { return carries_ + sequences_; }
  bool is_sequence(size_t i) const { return i >= carries_ && i < first_constant(); }

  // The carries before each row.
  std::vector<Tensor> forward() const {
    ScanAttrs attrs = a_;
    attrs.history = true;
    std::vector<Tensor> operands, results(2 * carries_ + ys_);
    for (size_t i = 0; i < inputs_; ++i) operands.push_back(in(i));
    Call call{ops::scan, attrs, operands, results, location_};
    dispatch(call);
    return {results.end() - static_cast<ptrdiff_t>(carries_), results.end()};
  }

  std::vector<Tensor> step(std::span<const Tensor> values, size_t carried, size_t rows) const {
    std::span<const Tensor> row = values.subspan(carried, rows);
    std::vector<Tensor> inputs(row.begin(), row.begin() + static_cast<ptrdiff_t>(first_constant()));
    inputs.insert(inputs.end(), values.begin() + static_cast<ptrdiff_t>(carried + rows), values.end());
    std::vector<Tensor> cotangents(carries_ + ys_), before(carries_);
    size_t at = 0;
    for (size_t i = 0; i < carries_; ++i) {
      if (needed_[i]) cotangents[i] = values[at++];
    }
    size_t from = first_constant();
    for (size_t i = carries_; i < carries_ + ys_; ++i) {
      if (cotangent(i).defined()) cotangents[i] = row[from++];
    }
    for (size_t i = 0; a_.history && i < carries_; ++i) {
      if (cotangent(carries_ + ys_ + i).defined()) before[i] = row[from++];
    }
    const std::vector<Tensor> found = region_vjp(body_, inputs, needed_, cotangents);
    std::vector<Tensor> results, of_rows;
    for (size_t i = 0; i < inputs_; ++i) {
      if (!needed_[i]) continue;
      Tensor gradient = found[i].defined() || !is_sequence(i) ? found[i] : zeros_like(inputs[i], location_);
      if (i < carries_) {
        if (before[i].defined()) gradient = gradient.defined() ? gradient + before[i] : before[i];
        if (!gradient.defined()) gradient = zeros_like(inputs[i], location_);
      } else if (!is_sequence(i)) {
        const Tensor& sum = values[at++];
        gradient = gradient.defined() ? sum + gradient : sum;
      }
      (is_sequence(i) ? of_rows : results).push_back(gradient);
    }
    results.insert(results.end(), of_rows.begin(), of_rows.end());
    return results;
  }

  VjpContext& c_;
  const ScanAttrs& a_;
  const ir::Graph& body_;
  size_t carries_, sequences_, inputs_, ys_;
  std::vector<bool> needed_;
  Location location_;
};

}  // namespace

void vjp_scan(VjpContext& c) { ScanBack(c).run(); }

}  // namespace hone::control

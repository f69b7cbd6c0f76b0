#include "hone/backend/cpu/loop_program.h"

#include "hone/backend/cpu/loop_steps.h"
#include "hone/ir/region.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

using codegen::LoopStep;

// 16 bytes of a result each: the generator takes up to 0.3 ms for one.
constexpr int64_t kWork = 2048;

bool is_too_large(const ir::Graph& body, size_t carries) {
  for (size_t i = 0; i < carries; ++i) {
    const Shape& shape = body.type(body.outputs()[i]).shape;
    if (body.outputs()[i] != body.inputs()[i].value && !(shape.is_static() && shape.count() <= codegen::kLoopElements))
      return true;
  }
  return false;
}

// From a loop's regions to steps in the generator's order.
class Lowering {
 public:
  explicit Lowering(std::span<const Tensor> inputs) : inputs_(inputs.size()) {
    for (const Tensor& input : inputs) steps_.add_input(input.type());
  }

  const char* lower_while(const LoopAttrs& attrs, LoopProgram& out) {
    if (is_too_large(ir::graph_of(attrs.regions[1]), inputs_)) return kLoopTooLarge;
    const ir::Graph condition = after_passes(ir::graph_of(attrs.regions[0])),
                    body = after_passes(ir::graph_of(attrs.regions[1]));
    find_kept(body, inputs_);
    const std::vector<int> inputs = all_inputs();
    std::vector<int> decides, next;
    if (const char* why = steps_.add(condition, inputs, decides)) return why;
    steps_.begin_body();
    if (const char* why = steps_.add(body, inputs, next)) return why;
    return finish(decides[0], next, {}, out);
  }

  const char* lower_scan(const ScanAttrs& attrs, LoopProgram& out) {
    if (is_too_large(ir::graph_of(attrs.body[0]), static_cast<size_t>(attrs.carries))) return kLoopTooLarge;
    const ir::Graph body = after_passes(ir::graph_of(attrs.body[0]));
    const auto carries = static_cast<size_t>(attrs.carries), xs = static_cast<size_t>(attrs.xs);
    for (size_t i = carries; i < carries + xs; ++i) steps_.make_row(static_cast<int>(i));
    find_kept(body, carries);
    for (size_t i = carries + xs; i < inputs_; ++i) steps_.make_fixed(static_cast<int>(i));
    steps_.begin_body();
    std::vector<int> results;
    if (const char* why = steps_.add(body, all_inputs(), results)) return why;
    out.length = attrs.length[0].number(), out.reverse = attrs.reverse;
    const auto ys = results.begin() + static_cast<ptrdiff_t>(carries);
    return finish(-1, {results.begin(), ys}, {ys, results.end()}, out);
  }

 private:
  std::vector<int> all_inputs() const {
    std::vector<int> all;
    for (size_t i = 0; i < inputs_; ++i) all.push_back(static_cast<int>(i));
    return all;
  }

  void find_kept(const ir::Graph& body, size_t carries) {
    std::vector<ir::ValueId> given;
    for (const ir::Input& input : body.inputs()) {
      if (input.kind == ir::InputKind::Argument) given.push_back(input.value);
    }
    kept_.resize(carries);
    for (size_t i = 0; i < carries; ++i) {
      kept_[i] = body.outputs()[i] == given[i];
      if (kept_[i]) steps_.make_fixed(static_cast<int>(i));
    }
  }

  const char* finish(int condition, const std::vector<int>& next, const std::vector<int>& stacked, LoopProgram& out) {
    std::vector<int> roots = stacked, changing;
    if (condition >= 0) roots.push_back(condition);
    for (size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i])
        out.kept.push_back(i);
      else
        changing.push_back(static_cast<int>(i)), roots.push_back(next[i]);
    }
    if (const char* why = steps_.keep(roots, changing)) return why;
    number(changing, out);
    if (steps_.work() > kWork) return "the body is too long for one kernel";
    if (condition >= 0) out.condition = place_[static_cast<size_t>(condition)];
    for (const int c : changing) {
      out.next.push_back(place_[static_cast<size_t>(next[static_cast<size_t>(c)])]);
      out.results.push_back(static_cast<size_t>(c));
    }
    for (size_t i = 0; i < stacked.size(); ++i) {
      out.stacked.push_back(place_[static_cast<size_t>(stacked[i])]);
      out.results.push_back(kept_.size() + i);
    }
    return nullptr;
  }

  // Final numbers: inputs by role, then steps by where they run.
  void number(std::span<const int> changing, LoopProgram& out) {
    place_.assign(steps_.size(), -1);
    const auto take = [&](int v) {
      place_[static_cast<size_t>(v)] = static_cast<int>(out.values.size());
      out.values.push_back(steps_.value(v));
    };
    const auto take_input = [&](int v) { take(v), out.operands.push_back(static_cast<size_t>(v)); };
    for (const int c : changing) take_input(c);
    const int inputs = static_cast<int>(inputs_);
    for (int v = 0; v < inputs; ++v) {
      if (steps_.where(v) == LoopSteps::Row && steps_.live(v)) take_input(v), ++out.rows;
    }
    for (int v = 0; v < inputs; ++v) {
      if (steps_.where(v) == LoopSteps::Fixed && steps_.live(v)) take_input(v), ++out.constants;
    }
    for (const LoopSteps::Where where : {LoopSteps::Fixed, LoopSteps::Condition, LoopSteps::Body}) {
      for (int v = inputs; v < static_cast<int>(steps_.size()); ++v) {
        if (steps_.where(v) != where || !steps_.live(v)) continue;
        LoopStep step = steps_.step(v);
        for (int k = 0; k < step.call.operands; ++k) step.call.in[k] = place_[static_cast<size_t>(step.call.in[k])];
        out.steps.push_back(step);
        take(v);
        out.hoisted += where == LoopSteps::Fixed ? 1 : 0;
        out.condition_steps += where == LoopSteps::Condition ? 1 : 0;
      }
    }
    out.data = steps_.data();
  }

  const size_t inputs_;
  LoopSteps steps_;
  std::vector<char> kept_;  // by carry: the body does not change it
  std::vector<int> place_;  // final number of a value
};

}  // namespace

const char* lower_loop(AttrRef attrs, std::span<const Tensor> inputs, LoopProgram& program) {
  Lowering lowering(inputs);
  return attrs.type() == &attr_type<LoopAttrs>() ? lowering.lower_while(attrs.as<LoopAttrs>(), program)
                                                 : lowering.lower_scan(attrs.as<ScanAttrs>(), program);
}

}  // namespace hone

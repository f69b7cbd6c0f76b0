#include "hone/compiler/control_kernels.h"

#include <cstring>
#include <optional>

#include "hone/compiler/pipeline.h"
#include "hone/device/device.h"
#include "hone/ir/region.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

using compiler::Executable;

// A compiled region. Passes may add inputs of their own (constants), so operands have places.
struct Program {
  std::shared_ptr<const Executable> executable;
  std::vector<size_t> inputs;  // place of each operand among the executable's inputs
  std::vector<char> same;      // by result: it is the operand of the same number

  explicit Program(const ir::Graph& program) : executable(compiler::compile(ir::merged(program)).executable) {
    const ir::Graph& graph = executable->graph();
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      if (graph.inputs()[i].kind == ir::InputKind::Argument) inputs.push_back(i);
    }
    for (size_t i = 0; i < graph.outputs().size(); ++i)
      same.push_back(i < inputs.size() && graph.outputs()[i] == graph.inputs()[inputs[i]].value ? 1 : 0);
  }
  std::vector<Tensor> arguments(std::span<const Tensor> operands) const {
    std::vector<Tensor> all(executable->graph().inputs().size());
    for (size_t i = 0; i < operands.size(); ++i) all[inputs[i]] = operands[i];
    return all;
  }
};

std::shared_ptr<const void> prepare(const KernelQuery& query) {
  auto programs = std::make_shared<std::vector<Program>>();
  for (const auto& region : regions_of(query.attrs)) programs->emplace_back(ir::graph_of(region));
  return programs;
}
const std::vector<Program>& programs_of(const KernelCall& call) {
  return *static_cast<const std::vector<Program>*>(call.prepared);
}

// A tensor over memory that is told later; its elements change, so it has no identity.
Tensor window(const TensorType& type) {
  auto* impl = new (pool_allocate(sizeof(TensorImpl))) TensorImpl;
  impl->type = type;
  impl->buffer = Buffer::borrow(cpu(), nullptr, static_cast<size_t>(type.shape.count()) * size_of(type.dtype), {});
  return Tensor(Ref<TensorImpl>(impl));
}
void point(const Tensor& window, std::byte* to) { window.impl()->buffer->rebind(to); }
void copy_bytes(const std::byte* from, std::byte* to, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void copy(const Tensor& from, const Tensor& to) { copy_bytes(from.mutable_bytes(), to.mutable_bytes(), from.bytes()); }

// ---- if

void run_if(const KernelCall& call) {
  const std::vector<Program>& branches = programs_of(call);
  size_t chosen = branches.size() - 1;
  if (call.dtype() == bool_) {
    chosen = *call.in<bool>(0) ? 0 : 1;
  } else if (const int32_t wanted = *call.in<int32_t>(0); wanted >= 0 && static_cast<size_t>(wanted) < chosen) {
    chosen = static_cast<size_t>(wanted);
  }
  branches[chosen].executable->run(branches[chosen].arguments(call.inputs.subspan(1)), call.outputs);
}

// ---- while

void run_while(const KernelCall& call) {
  const Program &condition = programs_of(call)[0], &body = programs_of(call)[1];
  const size_t carries = call.inputs.size();
  std::vector<Tensor> now(call.inputs.begin(), call.inputs.end()), next(carries), spare(carries);
  std::vector<std::byte*> free(carries);
  for (size_t i = 0; i < carries; ++i) {
    if (body.same[i]) continue;
    spare[i] = Tensor::empty(call.inputs[i].type());
    now[i] = window(call.inputs[i].type()), next[i] = window(call.inputs[i].type());
    point(now[i], call.inputs[i].mutable_bytes());
    point(next[i], call.outputs[i].mutable_bytes());
    free[i] = spare[i].mutable_bytes();
  }
  const std::vector<Tensor> looked = condition.arguments(now), given = body.arguments(now);
  const Tensor go_on = Tensor::empty({bool_, {}});
  for (;;) {
    condition.executable->run(looked, {&go_on, 1});
    if (!*static_cast<const bool*>(static_cast<const void*>(go_on.mutable_bytes()))) break;
    body.executable->run(given, next);
    for (size_t i = 0; i < carries; ++i) {
      if (body.same[i]) continue;
      std::byte *const written = next[i].mutable_bytes(), *const read = now[i].mutable_bytes();
      point(now[i], written);
      point(next[i], read == call.inputs[i].mutable_bytes() ? free[i] : read);
    }
  }
  for (size_t i = 0; i < carries; ++i) {
    if (now[i].mutable_bytes() != call.outputs[i].mutable_bytes()) copy(now[i], call.outputs[i]);
  }
}

// ---- scan

// What a row of a stacked tensor needs: a window and its distance to the next.
struct Row {
  Tensor tensor, whole;
  size_t bytes;
  explicit Row(const Tensor& stacked) : whole(stacked) {
    TensorType type = stacked.type();
    type.shape.erase(0);
    tensor = window(type);
    bytes = tensor.bytes();
  }
  std::byte* at(int64_t row) const { return whole.mutable_bytes() + static_cast<size_t>(row) * bytes; }
};

// A scan's body without the ys that are its carries as they come in: those are written where they lie as carries.
struct ScanProgram {
  std::vector<size_t> ys;       // results of the scan that the body computes
  std::vector<size_t> history;  // by carry: the result that holds it before each row; 0: none
  Program body;

  ScanProgram(const ir::Graph& graph, size_t carries) : history(carries), body(split(graph, carries)) {}

 private:
  ir::Graph split(const ir::Graph& graph, size_t carries) {
    std::vector<ir::ValueId> results(graph.outputs().begin(),
                                     graph.outputs().begin() + static_cast<ptrdiff_t>(carries));
    for (size_t i = carries; i < graph.outputs().size(); ++i) {
      size_t carry = 0;
      while (carry < carries && (history[carry] > 0 || graph.inputs()[carry].value != graph.outputs()[i])) ++carry;
      if (carry < carries) {
        history[carry] = i;
      } else {
        ys.push_back(i);
        results.push_back(graph.outputs()[i]);
      }
    }
    return ir::with_results(graph, results);
  }
};

std::shared_ptr<const void> prepare_scan(const KernelQuery& query) {
  const auto& attrs = query.attrs.as<ScanAttrs>();
  return std::make_shared<ScanProgram>(ir::graph_of(attrs.body[0]), static_cast<size_t>(attrs.carries));
}

// A carried value goes from the operand by way of two buffers, or of its history, to the result.
struct Carry {
  Tensor now, next, buffers[2], operand, result;
  std::optional<Row> history;
  std::byte* place(int64_t step, int64_t row_after) const {
    return history ? history->at(row_after) : buffers[step & 1].mutable_bytes();
  }
};

class Scan {
 public:
  explicit Scan(const KernelCall& call)
      : a_(call.attrs.as<ScanAttrs>()),
        program_(*static_cast<const ScanProgram*>(call.prepared)),
        length_(a_.length[0].number()) {
    const auto carries = static_cast<size_t>(a_.carries), sequences = static_cast<size_t>(a_.xs);
    std::vector<Tensor> operands(call.inputs.begin(), call.inputs.end());
    for (size_t i = carries; i < carries + sequences; ++i) operands[i] = rows_.emplace_back(call.inputs[i]).tensor;
    outputs_.resize(carries);
    for (size_t i = 0; i < carries; ++i) {
      Carry& carry = carries_.emplace_back();
      carry.operand = call.inputs[i], carry.result = call.outputs[i];
      if (program_.history[i] > 0) carry.history.emplace(call.outputs[program_.history[i]]);
      if (program_.body.same[i]) continue;
      const TensorType& type = carry.operand.type();
      operands[i] = carry.now = window(type), outputs_[i] = carry.next = window(type);
      for (Tensor& buffer : carry.buffers) {
        if (!carry.history && length_ > 1) buffer = Tensor::empty(type);
      }
      point(carry.now, carry.operand.mutable_bytes());
    }
    for (const size_t y : program_.ys) outputs_.push_back(results_.emplace_back(call.outputs[y]).tensor);
    arguments_ = program_.body.arguments(operands);
  }

  void run() {
    for (const Carry& carry : carries_) {
      if (carry.now.defined() && length_ > 0) {
        if (carry.history) copy_bytes(carry.operand.mutable_bytes(), carry.history->at(row(0)), carry.history->bytes);
        continue;
      }
      copy(carry.operand, carry.result);  // it stays as it is
      for (int64_t i = 0; carry.history && i < length_; ++i)
        copy_bytes(carry.operand.mutable_bytes(), carry.history->at(i), carry.history->bytes);
    }
    for (int64_t step = 0; step < length_; ++step) {
      for (const Row& each : rows_) point(each.tensor, each.at(row(step)));
      for (const Row& each : results_) point(each.tensor, each.at(row(step)));
      for (const Carry& carry : carries_) {
        if (!carry.now.defined()) continue;
        point(carry.next, step + 1 == length_ ? carry.result.mutable_bytes() : carry.place(step, row(step + 1)));
      }
      program_.body.executable->run(arguments_, outputs_);
      for (const Carry& carry : carries_) {
        if (carry.now.defined()) point(carry.now, carry.next.mutable_bytes());
      }
    }
  }

 private:
  int64_t row(int64_t step) const { return a_.reverse ? length_ - 1 - step : step; }

  const ScanAttrs& a_;
  const ScanProgram& program_;
  int64_t length_;
  std::vector<Row> rows_, results_;
  std::vector<Carry> carries_;
  std::vector<Tensor> arguments_, outputs_;
};

}  // namespace

void install_control() {
  add_kernels(ops::if_, {{.name = "program.if", .run = run_if, .prepare = prepare}});
  add_kernels(ops::while_, {{.name = "program.while", .run = run_while, .prepare = prepare}});
  add_kernels(
      ops::scan,
      {{.name = "program.scan", .run = [](const KernelCall& call) { Scan(call).run(); }, .prepare = prepare_scan}});
}

}  // namespace hone

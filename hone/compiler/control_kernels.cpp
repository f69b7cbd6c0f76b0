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

  Program(const ir::Graph& program, bool machine_code)
      : executable(compiler::compile(ir::merged(program), {.machine_code = machine_code}).executable) {
    const ir::Graph& graph = executable->graph();
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      if (graph.inputs()[i].kind == ir::InputKind::Argument) inputs.push_back(i);
    }
    for (size_t i = 0; i < graph.outputs().size(); ++i)
      same.push_back(i < inputs.size() && graph.outputs()[i] == graph.inputs()[inputs[i]].value ? 1 : 0);
  }
};

// The regions of a call, compiled.
struct Programs : std::vector<Program> {
  explicit Programs(const KernelQuery& query) {
    for (const auto& region : regions_of(query.attrs)) emplace_back(ir::graph_of(region), query.machine_code);
  }
};

// A program and what it is called with.
struct Arguments {
  const Program& program;
  std::vector<Tensor> tensors;
  compiler::BoundCall call;
  explicit Arguments(const Program& p)
      : program(p), tensors(p.executable->graph().inputs().size()), call(p.executable) {}
  void set(size_t operand, Tensor value) { tensors[program.inputs[operand]] = std::move(value); }
  void run(std::span<const Tensor> outputs) { call.run(tensors, outputs); }
};

// The regions of a call are compiled once; each run at a time has a state of its own.
template <class State>
Kernel kernel(const char* name) {
  return {.name = name,
          .run = [](const KernelCall& call) { static_cast<State*>(call.state)->run(call); },
          .prepare = [](const KernelQuery& query) -> std::shared_ptr<const void> {
            return std::make_shared<typename State::Compiled>(query);
          },
          .make_state = [](const KernelCall& call) -> std::shared_ptr<void> {
            return std::make_shared<State>(*static_cast<const typename State::Compiled*>(call.prepared), call);
          }};
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

class If {
 public:
  using Compiled = Programs;
  If(const Programs& branches, const KernelCall&) {
    for (const Program& branch : branches) branches_.emplace_back(branch);
  }

  void run(const KernelCall& call) {
    size_t chosen = branches_.size() - 1;
    if (call.dtype() == bool_) {
      chosen = *call.in<bool>(0) ? 0 : 1;
    } else if (const int32_t wanted = *call.in<int32_t>(0); wanted >= 0 && static_cast<size_t>(wanted) < chosen) {
      chosen = static_cast<size_t>(wanted);
    }
    Arguments& arguments = branches_[chosen];
    for (size_t i = 1; i < call.inputs.size(); ++i) arguments.set(i - 1, call.inputs[i]);
    arguments.run(call.outputs);
    for (size_t i = 1; i < call.inputs.size(); ++i) arguments.set(i - 1, {});
  }

 private:
  std::vector<Arguments> branches_;
};

// ---- while

class While {
 public:
  using Compiled = Programs;
  While(const Programs& programs, const KernelCall& call)
      : body_(programs[1]),
        looked_(programs[0]),
        given_(programs[1]),
        carries_(call.inputs.size()),
        next_(call.inputs.size()),
        go_on_(Tensor::empty({bool_, {}})) {
    for (size_t i = 0; i < carries_.size(); ++i) {
      if (body_.same[i]) continue;
      const TensorType& type = call.inputs[i].type();
      carries_[i] = {window(type), Tensor::empty(type)};
      next_[i] = window(type);
      looked_.set(i, carries_[i].now), given_.set(i, carries_[i].now);
    }
  }

  void run(const KernelCall& call) {
    for (size_t i = 0; i < carries_.size(); ++i) {
      if (body_.same[i]) {
        looked_.set(i, call.inputs[i]), given_.set(i, call.inputs[i]);
        continue;
      }
      point(carries_[i].now, call.inputs[i].mutable_bytes());
      point(next_[i], call.outputs[i].mutable_bytes());
    }
    for (;;) {
      looked_.run({&go_on_, 1});
      if (!*static_cast<const bool*>(static_cast<const void*>(go_on_.mutable_bytes()))) break;
      given_.run(next_);
      for (size_t i = 0; i < carries_.size(); ++i) {
        if (body_.same[i]) continue;
        std::byte *const written = next_[i].mutable_bytes(), *const read = carries_[i].now.mutable_bytes();
        point(carries_[i].now, written);
        point(next_[i], read == call.inputs[i].mutable_bytes() ? carries_[i].spare.mutable_bytes() : read);
      }
    }
    for (size_t i = 0; i < carries_.size(); ++i) {
      const Tensor& last = body_.same[i] ? call.inputs[i] : carries_[i].now;
      if (last.mutable_bytes() != call.outputs[i].mutable_bytes()) copy(last, call.outputs[i]);
      if (body_.same[i]) looked_.set(i, {}), given_.set(i, {});
    }
  }

 private:
  struct Carry {  // undefined where it stays as it is
    Tensor now, spare;
  };
  const Program& body_;
  Arguments looked_, given_;
  std::vector<Carry> carries_;
  std::vector<Tensor> next_;
  Tensor go_on_;
};

// ---- scan

// The rows of a stacked tensor, which is told later, one at a time.
struct Rows {
  Tensor tensor;
  std::byte* first = nullptr;
  size_t bytes;
  explicit Rows(const Tensor& stacked) {
    TensorType type = stacked.type();
    type.shape.erase(0);
    tensor = window(type);
    bytes = tensor.bytes();
  }
  std::byte* at(int64_t row) const { return first + static_cast<size_t>(row) * bytes; }
  void select(int64_t row) const { point(tensor, at(row)); }
};

// A scan's body without the ys that are its carries as they come in: those are written where they lie as carries.
struct ScanProgram {
  std::vector<size_t> ys;       // results of the scan that the body computes
  std::vector<size_t> history;  // by carry: the result that holds it before each row; 0: none
  Program body;

  explicit ScanProgram(const KernelQuery& query)
      : history(static_cast<size_t>(query.attrs.as<ScanAttrs>().carries)),
        body(split(ir::graph_of(query.attrs.as<ScanAttrs>().body[0])), query.machine_code) {}

 private:
  ir::Graph split(const ir::Graph& graph) {
    const size_t carries = history.size();
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

// A carried value goes from the operand by way of two buffers, or of its history, to the result.
class Scan {
 public:
  using Compiled = ScanProgram;

  Scan(const ScanProgram& program, const KernelCall& call)
      : program_(program),
        reverse_(call.attrs.as<ScanAttrs>().reverse),
        length_(call.attrs.as<ScanAttrs>().length[0].number()),
        arguments_(program.body),
        carries_(program.history.size()),
        outputs_(carries_.size()) {
    const auto sequences = static_cast<size_t>(call.attrs.as<ScanAttrs>().xs);
    for (size_t i = carries_.size(); i < carries_.size() + sequences; ++i)
      arguments_.set(i, xs_.emplace_back(call.inputs[i]).tensor);
    for (size_t i = 0; i < carries_.size(); ++i) {
      Carry& carry = carries_[i];
      if (program.history[i] > 0) carry.history.emplace(call.outputs[program.history[i]]);
      if (stays(i)) continue;
      const TensorType& type = call.inputs[i].type();
      carry.now = window(type), outputs_[i] = window(type);
      arguments_.set(i, carry.now);
      for (Tensor& buffer : carry.buffers) {
        if (!carry.history && length_ > 1) buffer = Tensor::empty(type);
      }
    }
    for (const size_t y : program.ys) outputs_.push_back(ys_.emplace_back(call.outputs[y]).tensor);
  }

  void run(const KernelCall& call) {
    bind(call);
    for (int64_t step = 0; step < length_; ++step) {
      for (const Rows& rows : xs_) rows.select(row(step));
      for (const Rows& rows : ys_) rows.select(row(step));
      for (size_t i = 0; i < carries_.size(); ++i) {
        if (stays(i)) continue;
        point(outputs_[i], step + 1 == length_ ? call.outputs[i].mutable_bytes() : place(carries_[i], step));
      }
      arguments_.run(outputs_);
      for (size_t i = 0; i < carries_.size(); ++i) {
        if (!stays(i)) point(carries_[i].now, outputs_[i].mutable_bytes());
      }
    }
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      if (stays(i)) arguments_.set(i, {});
    }
  }

 private:
  struct Carry {  // undefined where it stays as it is
    Tensor now, buffers[2];
    std::optional<Rows> history;
  };

  int64_t row(int64_t step) const { return reverse_ ? length_ - 1 - step : step; }
  // Where step puts the carry for the next one.
  std::byte* place(const Carry& carry, int64_t step) const {
    return carry.history ? carry.history->at(row(step + 1)) : carry.buffers[step & 1].mutable_bytes();
  }
  // Whether the operand is the same tensor in each step.
  bool stays(size_t operand) const {
    return operand < carries_.size() ? program_.body.same[operand] != 0 : operand >= carries_.size() + xs_.size();
  }

  void bind(const KernelCall& call) {
    const size_t carries = carries_.size();
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      if (stays(i)) arguments_.set(i, call.inputs[i]);
    }
    for (size_t i = 0; i < xs_.size(); ++i) xs_[i].first = call.inputs[carries + i].mutable_bytes();
    for (size_t i = 0; i < ys_.size(); ++i) ys_[i].first = call.outputs[program_.ys[i]].mutable_bytes();
    for (size_t i = 0; i < carries; ++i) {
      Carry& carry = carries_[i];
      if (carry.history) carry.history->first = call.outputs[program_.history[i]].mutable_bytes();
      const std::byte* const from = call.inputs[i].mutable_bytes();
      if (!stays(i) && length_ > 0) {
        point(carry.now, call.inputs[i].mutable_bytes());
        if (carry.history) copy_bytes(from, carry.history->at(row(0)), carry.history->bytes);
        continue;
      }
      copy(call.inputs[i], call.outputs[i]);  // it stays as it is
      for (int64_t step = 0; carry.history && step < length_; ++step)
        copy_bytes(from, carry.history->at(step), carry.history->bytes);
    }
  }

  const ScanProgram& program_;
  bool reverse_;
  int64_t length_;
  Arguments arguments_;
  std::vector<Rows> xs_, ys_;
  std::vector<Carry> carries_;
  std::vector<Tensor> outputs_;
};

}  // namespace

void install_control() {
  add_kernels(ops::if_, {kernel<If>("program.if")});
  add_kernels(ops::while_, {kernel<While>("program.while")});
  add_kernels(ops::scan, {kernel<Scan>("program.scan")});
}

}  // namespace hone

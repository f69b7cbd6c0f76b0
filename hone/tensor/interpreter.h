// The interpreter stack: what happens between a public op and its result.
#pragma once
#include <initializer_list>

#include "hone/tensor/op.h"

namespace hone {

class Variable;

/// An entry of a thread's stack (tape, vmap, autocast, recorder): sees each call, may rewrite it, and hands it on with
/// pass_on or, if it is the last word, sets the outputs itself.
class Interpreter {
 public:
  Interpreter() = default;
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  virtual ~Interpreter();

  virtual void process(Call& call) = 0;

  /// A variable is being read: an entry may watch the value or put another in its place.
  virtual void read_variable(const Variable& variable, Tensor& value);
  /// A variable is being assigned; true if the entry keeps the value itself and the variable stays as it is.
  virtual bool assign_variable(const Variable& variable, const Tensor& value);
  /// A variable is being made: the value it starts with. Who recorded a traced value computes its elements now.
  virtual Tensor initial_value(const Tensor& value, Location location);
  /// What a program reads that wants the elements of a value of this entry: what is wrong, why, what to write instead.
  struct HostRead {
    std::string_view what, why, fix;
  };
  virtual HostRead host_read() const;

  /// Puts this entry on top of the calling thread's stack, or takes it out again (wherever it stands). Other entries
  /// keep their order.
  void push();
  void remove();
  bool active() const { return active_; }
  /// A number that no other entry has, dead ones included.
  uint64_t identity() const;
  Interpreter* below() const { return below_; }

 protected:
  /// The entries below, down to the evaluator; ops called meanwhile see only those.
  void pass_on(Call& call);

 private:
  friend class InterpreterScope;
  Interpreter* below_ = nullptr;
  mutable uint64_t identity_ = 0;
  bool active_ = false;
};

/// Runs ops of a scope on the entries below `top` only (null = straight to the evaluator), and restores the stack
/// afterwards.
class InterpreterScope {
 public:
  explicit InterpreterScope(Interpreter* top);
  ~InterpreterScope();
  InterpreterScope(const InterpreterScope&) = delete;
  InterpreterScope& operator=(const InterpreterScope&) = delete;

 private:
  Interpreter* saved_;
};

/// The last word in eager mode; installed by install_defaults().
using Evaluator = void (*)(Call& call);
void set_evaluator(Evaluator evaluator);

/// Names the concrete back ends; defined in hone/register.cpp, called once before the first op.
void install_defaults();
/// Calls it unless that was done: for what asks kernels before any op ran.
void ensure_defaults();

/// Sends a call through the stack. Checks the number of inputs.
void dispatch(Call& call);

/// True if the calling thread's stack has entries.
bool has_interpreters();

/// Tells the thread's entries, bottom to top, that a variable is read: the value rises through them to the program.
void dispatch_read(const Variable& variable, Tensor& value);
/// Asks the thread's entries, top to bottom, whether one keeps an assigned value.
bool dispatch_assign(const Variable& variable, const Tensor& value);
/// Asks the thread's entries, top to bottom, for the first value of a variable. Error kFailedPrecondition where a
/// traced one gets no elements.
Tensor dispatch_initial(const Tensor& value, Location location);

/// Error kFailedPrecondition: a traced value is read on the host, or used where its trace does not reach; names the
/// line, the line that made it, and what to write instead.
[[noreturn]] void fail_traced(const Tensor& traced, Location location);

/// One output.
Tensor dispatch(const Op& op, AttrRef attrs, std::span<Tensor> inputs, Location location);
template <class... Inputs>
Tensor call_op(const Op& op, AttrRef attrs, Location location, Inputs&&... inputs) {
  Tensor array[] = {Tensor(std::forward<Inputs>(inputs))...};
  return dispatch(op, attrs, array, location);
}

/// Makes ops called in this scope report `location` (the user's line) instead of their own, and adds `layer` to the
/// path of names.
class LocationScope {
 public:
  explicit LocationScope(Location location, const char* layer = nullptr);
  ~LocationScope();
  LocationScope(const LocationScope&) = delete;
  LocationScope& operator=(const LocationScope&) = delete;
  /// The user's line where a scope is open, else `own`.
  static Location resolve(Location own);
  /// Names of open layers, "model/conv1"; empty outside.
  static std::string path();

 private:
  const LocationScope* above_;
  Location location_;
  const char* layer_;
};

}  // namespace hone

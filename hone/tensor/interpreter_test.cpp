#include "hone/tensor/interpreter.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "hone/base/error.h"
#include "hone/function/variable.h"
#include "hone/ops/elementwise.h"

namespace hone {
namespace {

// Notes the names of the ops that it sees.
class Note final : public Interpreter {
 public:
  Note(std::string name, std::string& log) : name_(std::move(name)), log_(log) { push(); }
  void process(Call& call) override {
    log_ += name_ + ":" + std::string(call.op.name) + " ";
    pass_on(call);
  }
  void read_variable(const Variable&, Tensor&) override { log_ += name_ + ":read "; }
  bool assign_variable(const Variable&, const Tensor&) override {
    log_ += name_ + ":assign ";
    return name_ == "keeps";
  }

 private:
  std::string name_;
  std::string& log_;
};

const Tensor& x() {
  static const Tensor tensor = Tensor::of<float>({1, 2});
  return tensor;
}

TEST(Interpreter, EntriesSeeCallsFromTopToBottom) {
  std::string log;
  const Note below("below", log), above("above", log);
  EXPECT_EQ((-x()).to_vector<float>(), (std::vector<float>{-1, -2}));
  EXPECT_EQ(log, "above:negate below:negate ");
}

TEST(Interpreter, OpsOfAnEntryGoToThoseBelow) {
  // Computes exp(x) where negate is asked for.
  struct Swap final : Interpreter {
    Swap() { push(); }
    void process(Call& call) override {
      Tensor in = call.inputs[0];
      const InterpreterScope rest(below());
      call.outputs[0] = exp(in);
    }
  };
  std::string log;
  const Note below("below", log);
  const Swap swap;
  EXPECT_EQ((-Tensor::of<float>({0})).item<float>(), 1);
  EXPECT_EQ(log, "below:exponential ");
}

TEST(Interpreter, LeaveInAnyOrder) {
  std::string log;
  auto a = std::make_unique<Note>("a", log), b = std::make_unique<Note>("b", log), c = std::make_unique<Note>("c", log);
  b.reset();
  negate(x());
  EXPECT_EQ(log, "c:negate a:negate ");
  c->remove();
  EXPECT_FALSE(c->active());
  EXPECT_TRUE(has_interpreters());
  a.reset();
  EXPECT_FALSE(has_interpreters());
  c.reset();
  negate(x());
  EXPECT_EQ(log, "c:negate a:negate ");
}

TEST(Interpreter, TheStackIsWholeAfterAnError) {
  std::string log;
  const Note below("below", log), above("above", log);
  EXPECT_THROW(x() + Tensor::of<float>({1, 2, 3}), Error);
  log.clear();
  negate(x());
  EXPECT_EQ(log, "above:negate below:negate ");
}

TEST(Interpreter, BelongsToItsThread) {
  std::string log;
  const Note mine("mine", log);
  std::thread([] {
    EXPECT_FALSE(has_interpreters());
    negate(x());
  }).join();
  EXPECT_EQ(log, "");
}

TEST(Interpreter, AScopeHidesTheStack) {
  std::string log;
  const Note note("note", log);
  {
    const InterpreterScope none(nullptr);
    negate(x());
    EXPECT_EQ(log, "");
  }
  negate(x());
  EXPECT_EQ(log, "note:negate ");
}

TEST(Interpreter, ReadsRiseThroughAllAssignmentsSinkToTheFirstThatKeeps) {
  std::string log;
  const Note below("below", log), keeps("keeps", log), above("above", log);
  Tensor value = x();
  const Variable variable(value);
  dispatch_read(variable, value);
  EXPECT_EQ(log, "below:read keeps:read above:read ");
  log.clear();
  EXPECT_TRUE(dispatch_assign(variable, value));
  EXPECT_EQ(log, "above:assign keeps:assign ");
}

TEST(Dispatch, RefusesUndefinedOperands) {
  try {
    x() + Tensor();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(name(error.code()), name(Code::kInvalidArgument));
    EXPECT_NE(std::string(error.what()).find("interpreter_test.cpp"), std::string::npos) << error.what();
  }
}

TEST(LocationScope, GivesTheUsersLineAndThePathOfLayers) {
  const Location own = Location::current();
  EXPECT_EQ(LocationScope::path(), "");
  EXPECT_EQ(LocationScope::resolve(own).line, own.line);
  {
    const Location user = Location::current();
    const LocationScope model(user, "model");
    const LocationScope layer(own, "conv1");  // the outermost line is the user's
    EXPECT_EQ(LocationScope::path(), "model/conv1");
    EXPECT_EQ(LocationScope::resolve(own).line, user.line);
    try {
      x() + Tensor::of<float>({1, 2, 3});
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.parts().location.line, user.line);
    }
  }
  EXPECT_EQ(LocationScope::path(), "");
}

}  // namespace
}  // namespace hone

// Code that the generator makes while the program runs: in the background, once for all that is equal, and never across
// a fork or the end of the process.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "hone/compiler/codegen.h"
#include "hone/compiler/object_loader.h"

namespace hone {

/// One function of machine code, or a wish for it. Thread-safe.
class MachineCode {
 public:
  virtual ~MachineCode();
  MachineCode(const MachineCode&) = delete;
  MachineCode& operator=(const MachineCode&) = delete;

  /// Whether it may be run.
  bool ready() const { return function() != nullptr; }
  /// Makes the code now, unless that was tried before. False where it cannot be made, which a warning says once.
  bool compile();
  /// Makes it in the background, or now where there is one thread. Asked again, does nothing.
  static void request(const std::shared_ptr<MachineCode>& code);

 protected:
  using Function = void (*)();

  /// `what` is said of code that cannot be made: "a fused call, which runs tile by tile". Static storage.
  explicit MachineCode(const char* what) : what_(what) {}
  /// Asks the generator for an object.
  virtual bool make(const codegen::Generator& generator, const codegen::TextSink& sink) const = 0;
  /// Null until the code is there.
  Function function() const { return function_.load(std::memory_order_acquire); }
  /// The one with this code's key: an older one, or this.
  static std::shared_ptr<MachineCode> shared(std::shared_ptr<MachineCode> code);

  std::string key_;    ///< all that the code depends on, its kind and level included
  std::string level_;  ///< its name
  std::string title_;  ///< what it does, for people: one line

 private:
  void load();
  std::string generate() const;

  const char* what_;
  std::mutex mutex_;  // held while the code is made
  std::atomic<bool> tried_{false}, requested_{false};
  LoadedCode loaded_;  // set before function_
  std::atomic<Function> function_{nullptr};
};

template <class T>
void append_key(std::string& key, std::span<const T> values) {
  key.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

/// Since the process began, for tests: functions that were made or loaded from the cache.
int64_t machine_code_count();

/// Until nothing is made in the background.
void wait_for_machine_code();

}  // namespace hone

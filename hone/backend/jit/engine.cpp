// From LLVM IR to machine code in memory, through ORC; the entry of libhone-jit.so.
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <atomic>
#include <memory>

#include "hone/backend/jit/loop.h"
#include "hone/backend/jit/map.h"

namespace hone::jit {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
constexpr const char* kCpu[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

std::string text_of(llvm::Error error) { return llvm::toString(std::move(error)); }

// The one JIT of the process. It is never destroyed: code may run until the last moment.
struct Engine {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::string failure;

  Engine() {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    llvm::orc::JITTargetMachineBuilder target{llvm::Triple(kTriple)};
    auto made = llvm::orc::LLJITBuilder()
                    .setJITTargetMachineBuilder(std::move(target))
                    .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                    .setLinkProcessSymbolsByDefault(false)
                    .create();
    if (made)
      jit = std::move(*made);
    else
      failure = text_of(made.takeError());
  }
};
Engine& engine() {
  static Engine& only = *new Engine;
  return only;
}

// Never contracts: each instruction is one rounding. Optimising takes 2 to 3 times as long and gives loops of vectors
// hardly anything (5 %; sine and cosine 20 %); without it, what a loop carries would go through memory.
std::unique_ptr<llvm::TargetMachine> target_machine(codegen::Level level, llvm::CodeGenOptLevel effort) {
  std::string failure;
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(kTriple, failure);
  if (!target) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(kTriple, kCpu[static_cast<int>(level)], "", options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, effort, /*JIT=*/true));
}

bool generate(llvm::TargetMachine& machine, llvm::Module& module, llvm::CodeGenFileType type,
              llvm::SmallVectorImpl<char>& out) {
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) return false;
  passes.run(module);
  return true;
}

struct Code {
  llvm::orc::ExecutorAddr address;
  void* owner = nullptr;  // null: an Error text said why
};

// The function that `emit` adds to a module under a name.
Code compile(codegen::Level level, llvm::CodeGenOptLevel effort, const codegen::TextSink& sink,
             llvm::function_ref<bool(llvm::Module&, const char*)> emit) {
  const auto tell = [&](codegen::Text kind, llvm::StringRef text) {
    sink.write(sink.context, kind, text.data(), text.size());
  };
  const auto fail = [&](llvm::StringRef why) {
    tell(codegen::Text::Error, why);
    return Code{};
  };
  Engine& e = engine();
  if (!e.jit) return fail(e.failure);
  const std::unique_ptr<llvm::TargetMachine> machine = target_machine(level, effort);
  if (!machine) return fail("LLVM was built without x86-64");

  static std::atomic<int64_t> serial{0};
  const std::string name = "hone_code_" + std::to_string(serial++);
  llvm::LLVMContext context;
  llvm::Module module(name, context);
  module.setTargetTriple(kTriple);
  module.setDataLayout(machine->createDataLayout());
  if (!emit(module, name.c_str())) return fail("a functor does not take its element type");
#ifndef NDEBUG
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  if (llvm::verifyModule(module, &stream)) return fail(broken);
#endif
  if (sink.listings) {
    std::string ir;
    llvm::raw_string_ostream out(ir);
    module.print(out, nullptr);
    tell(codegen::Text::Ir, ir);
    const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);  // generating changes it
    llvm::SmallString<0> assembly;
    if (generate(*machine, *copy, llvm::CodeGenFileType::AssemblyFile, assembly))
      tell(codegen::Text::Assembly, assembly);
  }
  llvm::SmallVector<char, 0> object;
  if (!generate(*machine, module, llvm::CodeGenFileType::ObjectFile, object)) return fail("LLVM writes no objects");

  llvm::orc::ResourceTrackerSP tracker = e.jit->getMainJITDylib().createResourceTracker();
  if (llvm::Error error = e.jit->addObjectFile(
          tracker, std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), name, false)))
    return fail(text_of(std::move(error)));
  auto address = e.jit->lookup(name);
  if (!address) {
    llvm::consumeError(tracker->remove());
    return fail(text_of(address.takeError()));
  }
  return {*address, new llvm::orc::ResourceTrackerSP(std::move(tracker))};
}

codegen::MapCode compile_map(const codegen::MapProgram& program, const codegen::TextSink& sink) {
  const Code code = compile(program.level, llvm::CodeGenOptLevel::None, sink,
                            [&](llvm::Module& module, const char* name) { return emit_map(program, module, name); });
  if (!code.owner) return {};
  return {code.address.toPtr<codegen::MapFn>(), lanes_of(program), code.owner};
}

codegen::LoopCode compile_loop(const codegen::LoopProgram& program, const codegen::TextSink& sink) {
  const Code code = compile(program.level, llvm::CodeGenOptLevel::Default, sink,
                            [&](llvm::Module& module, const char* name) { return emit_loop(program, module, name); });
  if (!code.owner) return {};
  return {code.address.toPtr<codegen::LoopFn>(), code.owner};
}

void release(void* owner) {
  const std::unique_ptr<llvm::orc::ResourceTrackerSP> tracker(static_cast<llvm::orc::ResourceTrackerSP*>(owner));
  llvm::consumeError((*tracker)->remove());
}

constexpr codegen::Generator kGenerator{codegen::kVersion, compile_map, compile_loop, release};

}  // namespace
}  // namespace hone::jit

// Destructors of LLVM's static objects, which the linker's --wrap sends here (hone_module), are not registered: at exit
// they would run before whoever waits for a thread that compiles.
extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*);  // NOLINT(bugprone-reserved-identifier)
extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*) { return 0; }

extern "C" [[gnu::visibility("default")]] const hone::codegen::Generator* hone_jit_generator(int32_t version) {
  return version == hone::codegen::kVersion ? &hone::jit::kGenerator : nullptr;
}

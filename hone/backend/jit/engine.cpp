// From LLVM IR to objects; the entry of libhone-jit.so.
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <memory>
#include <string>

#include "hone/backend/jit/loop.h"
#include "hone/backend/jit/map.h"
#include "hone/backend/jit/object.h"

namespace hone::jit {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
constexpr const char* kCpu[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

void initialise_llvm() {
  static const int once = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return 0;
  }();
  static_cast<void>(once);
}

// Never contracts: each instruction is one rounding. Optimising takes 2 to 3 times as long and gives loops of vectors
// hardly anything (5 %; sine and cosine 20 %); without it, what a loop carries would go through memory.
std::unique_ptr<llvm::TargetMachine> target_machine(codegen::Level level, llvm::CodeGenOptLevel effort) {
  std::string failure;
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(kTriple, failure);
  if (!target) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      kTriple, kCpu[static_cast<int>(level)], "", options, llvm::Reloc::PIC_, llvm::CodeModel::Small, effort));
}

bool generate(llvm::TargetMachine& machine, llvm::Module& module, llvm::CodeGenFileType type,
              llvm::SmallVectorImpl<char>& out) {
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) return false;
  passes.run(module);
  return true;
}

// The object of one function, which `emit` adds to a module under a name.
bool compile(codegen::Level level, llvm::CodeGenOptLevel effort, const codegen::TextSink& sink,
             llvm::function_ref<bool(llvm::Module&, const char*)> emit) {
  const auto tell = [&](codegen::Text kind, llvm::StringRef text) {
    sink.write(sink.context, kind, text.data(), text.size());
  };
  const auto fail = [&](llvm::StringRef why) {
    tell(codegen::Text::Error, why);
    return false;
  };
  initialise_llvm();
  const std::unique_ptr<llvm::TargetMachine> machine = target_machine(level, effort);
  if (!machine) return fail("LLVM was built without x86-64");

  llvm::LLVMContext context;
  llvm::Module module(codegen::kEntrySymbol, context);
  module.setTargetTriple(kTriple);
  module.setDataLayout(machine->createDataLayout());
  if (!emit(module, codegen::kEntrySymbol)) return fail("a functor does not take its element type");
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
  tell(codegen::Text::Object, {object.data(), object.size()});
  return true;
}

bool compile_map(const codegen::MapProgram& program, const codegen::TextSink& sink) {
  return compile(program.level, llvm::CodeGenOptLevel::None, sink,
                 [&](llvm::Module& module, const char* name) { return emit_map(program, module, name); });
}

bool compile_loop(const codegen::LoopProgram& program, const codegen::TextSink& sink) {
  return compile(program.level, llvm::CodeGenOptLevel::Default, sink,
                 [&](llvm::Module& module, const char* name) { return emit_loop(program, module, name); });
}

constexpr codegen::Generator kGenerator{codegen::kVersion, HONE_GENERATOR_FINGERPRINT, compile_map, compile_loop,
                                        compile_object};

}  // namespace
}  // namespace hone::jit

// Destructors of LLVM's static objects, which the linker's --wrap sends here (hone_module), are not registered: at exit
// they would run before whoever waits for a thread that compiles.
extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*);  // NOLINT(bugprone-reserved-identifier)
extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*) { return 0; }

extern "C" [[gnu::visibility("default")]] const hone::codegen::Generator* hone_jit_generator(int32_t version) {
  return version == hone::codegen::kVersion ? &hone::jit::kGenerator : nullptr;
}

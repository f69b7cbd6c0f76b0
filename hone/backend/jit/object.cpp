// Models as objects: tables of works, linked with the functions that they name, which are bitcode in this library.
#include "hone/backend/jit/object.h"

#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "hone/backend/jit/map.h"
#include "hone/backend/jit/object/tables.h"
#include "hone/math/kernels.h"
#include "hone/math/map_rows.h"

// The bitcode of object/kernels.cpp by level (CMake makes it), runtime in the first of a processor.
#define BITCODE(name)                                                                                            \
  extern "C" const char hone_bitcode_##name[], hone_bitcode_##name##_end[];                                      \
  asm(".pushsection .rodata\n.balign 16\n.globl hone_bitcode_" #name "\nhone_bitcode_" #name                     \
      ":\n.incbin \"" HONE_BITCODE_DIR "/" #name ".bc\"\n.globl hone_bitcode_" #name "_end\nhone_bitcode_" #name \
      "_end:\n.popsection\n")
#if HONE_OBJECTS
BITCODE(v2);
BITCODE(v3);
BITCODE(v4);
#endif
#if HONE_OBJECTS_ARM64
BITCODE(neon);
#endif

namespace hone::jit {
namespace {

struct LevelSource {
  const char *name, *cpu;
  llvm::StringRef bitcode;
};

llvm::StringRef between(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

// In codegen::Level's order; empty where this build has none.
LevelSource level_source(int level) {
  switch (level) {
#if HONE_OBJECTS
    case 0:
      return {"v2", "x86-64-v2", between(hone_bitcode_v2, hone_bitcode_v2_end)};
    case 1:
      return {"v3", "x86-64-v3", between(hone_bitcode_v3, hone_bitcode_v3_end)};
    case 2:
      return {"v4", "x86-64-v4", between(hone_bitcode_v4, hone_bitcode_v4_end)};
#endif
#if HONE_OBJECTS_ARM64
    case 3:
      return {"neon", "generic", between(hone_bitcode_neon, hone_bitcode_neon_end)};
#endif
    default:
      return {"", "", {}};
  }
}

constexpr const char* kWorkNames[] = {
#define WORK(name, function) #name,
#include "hone/math/works.def"
};

using Constants = llvm::SmallVector<llvm::Constant*, 16>;

// Lays out one program in a module.
class ObjectModule {
 public:
  ObjectModule(const codegen::ObjectProgram& program, llvm::Module& module)
      : program_(program), module_(module), ir_(module.getContext()) {
    pointer_ = ir_.getPtrTy();
    memory_type_ = llvm::StructType::create({ir_.getInt32Ty(), ir_.getInt64Ty()}, "memory");
    work_type_ = llvm::StructType::create({pointer_, pointer_, pointer_, pointer_, ir_.getInt32Ty(), ir_.getInt64Ty(),
                                           ir_.getInt64Ty(), ir_.getInt64Ty()},
                                          "work");
    table_type_ = llvm::StructType::create({ir_.getInt64Ty(), pointer_, ir_.getInt64Ty()}, "table");
    level_type_ = llvm::StructType::create({pointer_, ir_.getInt64Ty()}, "level");
    initial_type_ = llvm::StructType::create({ir_.getInt64Ty(), ir_.getInt64Ty(), ir_.getInt64Ty()}, "initial");
  }

  /// Code of the level's clusters, and declarations of what the object takes from `kernels`, the level's source.
  bool declare_level(int level, const LevelSource& source, llvm::Module& kernels) {
    clusters_.clear();
    for (int64_t i = 0; i < program_.work_count; ++i) {
      const codegen::ObjectWork& work = program_.works[i];
      if (work.function != math::kObjectControl) declare(kernels, work_name(source, work.function));
      if (!work.cluster) continue;
      llvm::Function*& function = clusters_[work.cluster];
      if (!function) function = cluster(*work.cluster, level, source);
      if (!function) return false;
    }
    resolve_tiles(source.name, kernels);
    return true;
  }
  /// What entries call.
  void declare_runtime(llvm::Module& kernels) {
    for (const char* const name : {"hone_object_run", "hone_object_init", "hone_object_scratch_bytes",
                                   "hone_object_parallel", "hone_object_load_weights"})
      declare(kernels, name);
  }

  /// Once what was declared is linked.
  void add_level(int level, const LevelSource& source) {
    Constants works;
    for (int64_t i = 0; i < program_.work_count; ++i) {
      const codegen::ObjectWork& work = program_.works[i];
      llvm::Constant* params = bytes(work.params, work.param_bytes, 16);
      llvm::Constant* code = llvm::ConstantPointerNull::get(pointer_);
      if (work.cluster) {
        code = clusters_.at(work.cluster);
        if (work.function == math::WorkId::Map) {
          codegen::MapProgram at_level = *work.cluster;
          at_level.level = static_cast<codegen::Level>(level);
          math::MapRows rows;
          std::memcpy(static_cast<void*>(&rows), work.params, sizeof rows);
          rows.lanes = codegen::lanes_of(at_level);
          params = bytes(&rows, sizeof rows, 16);
        }
      }
      Constants memory;
      for (int32_t m = 0; m < work.memory_count; ++m)
        memory.push_back(
            llvm::ConstantStruct::get(memory_type_, {number32(work.memory[m].slot), number(work.memory[m].offset)}));
      works.push_back(llvm::ConstantStruct::get(
          work_type_, {function_of(work.function, source), params, code, array(memory_type_, memory),
                       number32(work.memory_count), number(work.count), number(work.grain), number(work.scratch)}));
    }
    Constants tables;
    for (int64_t i = 0; i < program_.table_count; ++i) {
      const codegen::ObjectTable& table = program_.tables[i];
      const Constants rows(works.begin() + table.first, works.begin() + table.first + table.count);
      tables.push_back(
          llvm::ConstantStruct::get(table_type_, {number(table.batch), array(work_type_, rows), number(table.count)}));
    }
    levels_[level % 3] = global(
        llvm::ConstantStruct::get(level_type_, {array(table_type_, tables), number(program_.table_count)}), true, 16);
  }

  void add_entries() {
    llvm::Constant* const null = llvm::ConstantPointerNull::get(pointer_);
    Constants initial;
    for (int64_t i = 0; i < program_.initial_count; ++i) {
      const codegen::ObjectInitial& each = program_.initial[i];
      initial.push_back(
          llvm::ConstantStruct::get(initial_type_, {number(each.constant), number(each.state), number(each.bytes)}));
    }
    auto* const mutable_type = llvm::ArrayType::get(pointer_, sizeof(object::Mutable) / sizeof(void*));
    llvm::Constant* const mutable_part = global(llvm::Constant::getNullValue(mutable_type), false, 16);
    const int64_t slots = program_.slot_count * int64_t{sizeof(void*)};
    auto* const levels_type = llvm::ArrayType::get(pointer_, 3);
    for (llvm::Constant*& level : levels_) level = level ? level : null;
    Constants fields{llvm::ConstantArray::get(levels_type, {levels_[0], levels_[1], levels_[2]}),
                     program_.weight_header ? null : bytes(program_.constants, program_.constant_bytes, 64),
                     program_.weight_header ? bytes(program_.weight_header, object::kWeightHeader, 16) : null,
                     mutable_part,
                     array(initial_type_, initial),
                     example_bytes()};
    for (const int64_t n :
         {program_.initial_count, program_.constant_bytes, program_.state_bytes, program_.arena_bytes,
          program_.scratch_bytes, (slots + math::kObjectAlign - 1) / math::kObjectAlign * math::kObjectAlign})
      fields.push_back(number(n));
    fields.push_back(number32(program_.input_count));
    fields.push_back(number32(program_.output_count));
    fields.push_back(ir_.getInt8(program_.flush_denormals ? 1 : 0));
    model_ = global(llvm::ConstantStruct::getAnon(fields), true, 16);

    llvm::Type *const status = ir_.getInt32Ty(), *const size = ir_.getInt64Ty();
    const bool stateful = program_.state_bytes > 0;
    if (stateful) {
      entry(program_.entry, "hone_object_run", status, {pointer_, pointer_, pointer_, pointer_}, {0, 1, 2, -2, 3});
      entry("init", "hone_object_init", status, {pointer_}, {0});
      entry("reset", "hone_object_init", status, {pointer_}, {0});
    } else if (program_.example_bytes) {
      entry(program_.entry, "hone_object_run", status, {pointer_, pointer_, size, pointer_}, {-1, 0, 1, 2, 3});
    } else {
      entry(program_.entry, "hone_object_run", status, {pointer_, pointer_, pointer_}, {-1, 0, 1, -2, 2});
    }
    entry("scratch_bytes", "hone_object_scratch_bytes", size, {}, {});
    entry("set_parallel_for", "hone_object_parallel", ir_.getVoidTy(), {pointer_, pointer_}, {0, 1});
    if (program_.weight_header) entry("load_weights", "hone_object_load_weights", status, {pointer_}, {0});
  }

  const std::vector<std::string>& exported() const { return exported_; }

 private:
  llvm::Constant* number(int64_t n) { return ir_.getInt64(static_cast<uint64_t>(n)); }
  llvm::Constant* number32(int32_t n) { return ir_.getInt32(static_cast<uint32_t>(n)); }
  // Equal constants are one value in LLVM, and lie in an object once.
  llvm::GlobalVariable* global(llvm::Constant* value, bool constant, uint64_t align) {
    llvm::GlobalVariable*& known = globals_[value];
    if (constant && known && known->getAlign().valueOrOne() >= align) return known;
    auto* const made = new llvm::GlobalVariable(module_, value->getType(), constant, llvm::GlobalValue::InternalLinkage,
                                                value, "table");
    made->setAlignment(llvm::Align(align));
    if (constant) known = made;
    return made;
  }
  llvm::Constant* bytes(const void* data, int64_t size, uint64_t align) {
    if (size == 0) data = "", size = 1;
    return global(llvm::ConstantDataArray::getRaw({static_cast<const char*>(data), static_cast<size_t>(size)},
                                                  static_cast<uint64_t>(size), ir_.getInt8Ty()),
                  true, align);
  }
  llvm::Constant* array(llvm::Type* type, const Constants& values) {
    if (values.empty()) return llvm::ConstantPointerNull::get(pointer_);
    return global(llvm::ConstantArray::get(llvm::ArrayType::get(type, values.size()), values), true, 16);
  }

  static std::string work_name(const LevelSource& source, math::WorkId work) {
    return std::string("hone_work_") + source.name + "_" + kWorkNames[static_cast<int>(work)];
  }
  llvm::Constant* function_of(math::WorkId work, const LevelSource& source) {
    if (work == math::kObjectControl) return llvm::ConstantPointerNull::get(pointer_);
    return module_.getFunction(work_name(source, work));
  }
  llvm::Constant* declare(llvm::Module& kernels, llvm::StringRef name) {
    return llvm::cast<llvm::Constant>(
        module_.getOrInsertFunction(name, kernels.getFunction(name)->getFunctionType()).getCallee());
  }

  // The code of a cluster; null where a functor does not take its element type.
  llvm::Function* cluster(codegen::MapProgram program, int level, const LevelSource& source) {
    program.level = static_cast<codegen::Level>(level);
    const std::string name =
        std::string(program_.name) + "_map_" + source.name + "_" + std::to_string(clusters_.size());
    if (!emit_map(program, module_, name.c_str())) return nullptr;
    llvm::Function* const function = module_.getFunction(name);
    function->addFnAttr("target-cpu", source.cpu);
    return function;
  }

  // What clusters of this level call by the names of tiles: functions in the tables of `kernels`.
  void resolve_tiles(const char* level, llvm::Module& kernels) {
    // Tables are arrays of math::TileRow, however their constants are put together.
    const auto entry = [&](const std::string& table, int row, int type) {
      const uint64_t offset = static_cast<uint64_t>(row) * sizeof(math::TileRow) + static_cast<uint64_t>(type) * 8;
      llvm::Constant* const all = kernels.getNamedGlobal(table + level)->getInitializer();
      return declare(
          kernels,
          llvm::ConstantFoldLoadFromConst(all, pointer_, llvm::APInt(64, offset), kernels.getDataLayout())->getName());
    };
    for (llvm::Function& function : llvm::make_early_inc_range(module_)) {
      codegen::MapStep step;
      int result = 0;
      if (!function.isDeclaration() || !codegen::read_tile_name(function.getName().str().c_str(), step, result))
        continue;
      function.replaceAllUsesWith(step.row == codegen::MapStep::kConvert ? entry("hone_conversions_", step.type, result)
                                                                         : entry("hone_tiles_", step.row, step.type));
      function.eraseFromParent();
    }
  }

  llvm::Constant* example_bytes() {
    if (!program_.example_bytes) return llvm::ConstantPointerNull::get(pointer_);
    Constants bytes;
    for (int32_t i = 0; i < program_.input_count + program_.output_count; ++i)
      bytes.push_back(number(program_.example_bytes[i]));
    return array(ir_.getInt64Ty(), bytes);
  }

  // name_what(parameters...) calls runtime(model, arguments...), each a parameter, null (-1) or 0 (-2).
  void entry(const std::string& what, const char* runtime, llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters,
             std::initializer_list<int> arguments) {
    const std::string name = std::string(program_.name) + "_" + what;
    llvm::Function* const function = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                                            llvm::GlobalValue::ExternalLinkage, name, module_);
    function->setDoesNotThrow();
    ir_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    llvm::SmallVector<llvm::Value*, 6> values{model_};
    for (const int argument : arguments)
      values.push_back(argument == -1   ? static_cast<llvm::Value*>(llvm::ConstantPointerNull::get(pointer_))
                       : argument == -2 ? static_cast<llvm::Value*>(number(0))
                                        : function->getArg(static_cast<unsigned>(argument)));
    llvm::CallInst* const call = ir_.CreateCall(module_.getFunction(runtime), values);
    if (result->isVoidTy())
      ir_.CreateRetVoid();
    else
      ir_.CreateRet(call);
    exported_.push_back(name);
  }

  const codegen::ObjectProgram& program_;
  llvm::Module& module_;
  llvm::IRBuilder<> ir_;
  llvm::PointerType* pointer_;
  llvm::StructType *memory_type_, *work_type_, *table_type_, *level_type_, *initial_type_;
  llvm::Constant* levels_[3] = {};
  llvm::Constant* model_ = nullptr;
  std::unordered_map<llvm::Constant*, llvm::GlobalVariable*> globals_;
  std::unordered_map<const codegen::MapProgram*, llvm::Function*> clusters_;  // of the level
  std::vector<std::string> exported_;
};

// Functions and tables that nobody refers to, and then what only those did.
void remove_unused(llvm::Module& module) {
  for (bool changed = true; changed;) {
    changed = false;
    const auto unused = [&](llvm::GlobalObject& each) {
      each.removeDeadConstantUsers();
      const bool is = each.use_empty() && (each.hasLocalLinkage() || each.isDeclaration());
      changed = changed || is;
      return is;
    };
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
      if (unused(function)) function.eraseFromParent();
    }
    for (llvm::GlobalVariable& variable : llvm::make_early_inc_range(module.globals())) {
      if (unused(variable)) variable.eraseFromParent();
    }
  }
}

}  // namespace

bool compile_object(const codegen::ObjectProgram& program, const codegen::TextSink& sink) {
  const auto fail = [&](llvm::StringRef why) {
    sink.write(sink.context, codegen::Text::Error, why.data(), why.size());
    return false;
  };
  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();  // inline assembly of the runtime
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
    return true;
  }();
  (void)initialized;
  const char* const triple = program.arm64 ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu";
  const int first = program.arm64 ? 3 : 0, last = program.arm64 ? 3 : 2;
  if (level_source(first).bitcode.empty())
    return fail(program.arm64 ? "this build has no kernels for aarch64: it was made without g++-aarch64-linux-gnu"
                              : "this build has no kernels for objects: it was made without clang 19");
  std::string failure;
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(triple, failure);
  if (!target) return fail(failure);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.FunctionSections = options.DataSections = true;
  const std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, level_source(first).cpu, "", options, llvm::Reloc::PIC_, {}, llvm::CodeGenOptLevel::Default));

  llvm::LLVMContext context;
  llvm::Module module(program.name, context);
  module.setTargetTriple(triple);
  module.setDataLayout(machine->createDataLayout());
  llvm::Linker linker(module);
  ObjectModule object(program, module);
  for (int level = first; level <= last; ++level) {
    const bool wanted = program.arm64 || (program.levels >> level & 1) != 0;
    if (!wanted && level != first) continue;  // the first has the runtime
    const LevelSource source = level_source(level);
    // Functions are read when something calls them: most of the bitcode never is.
    auto kernels = llvm::getLazyBitcodeModule({source.bitcode, source.name}, context);
    if (!kernels) return fail(llvm::toString(kernels.takeError()));
    (*kernels)->setTargetTriple(triple);
    if (level == first) object.declare_runtime(**kernels);
    if (wanted && !object.declare_level(level, source, **kernels))
      return fail("a functor does not take its element type");
    if (linker.linkInModule(std::move(*kernels), llvm::Linker::LinkOnlyNeeded)) return fail("kernels cannot be linked");
    if (wanted) object.add_level(level, source);
  }
  object.add_entries();
  llvm::ModuleAnalysisManager analyses;
  llvm::InternalizePass([&](const llvm::GlobalValue& value) {
    return value.isDeclaration() || std::ranges::find(object.exported(), value.getName()) != object.exported().end();
  }).run(module, analyses);
  remove_unused(module);
  llvm::legacy::PassManager passes;
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  if (llvm::verifyModule(module, &stream)) return fail(broken);
  if (machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile))
    return fail("LLVM writes no objects for this processor");
  passes.run(module);
  sink.write(sink.context, codegen::Text::Object, bytes.data(), bytes.size());
  return true;
}

}  // namespace hone::jit

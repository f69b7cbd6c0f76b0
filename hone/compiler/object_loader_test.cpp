// Objects of the code generator, and what damage can make of them.
#include "hone/compiler/object_loader.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "hone/base/error.h"
#include "hone/base/file.h"
#include "hone/compiler/codegen.h"
#include "hone/math/kernels.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

using codegen::MapFn;

// r = op(x), then y + r, at v2.
std::string object_of(const Op& op, DType dtype) {
  const auto type = static_cast<int32_t>(dtype);
  codegen::MapStep first{}, sum{};
  first.row = op.elementwise, first.type = type, first.operands = 1;
  sum.row = ops::add.elementwise, sum.type = type, sum.operands = 2, sum.in[0] = 1, sum.in[1] = 2;
  const codegen::MapStep steps[] = {first, sum};
  const int32_t types[] = {type, type, type, type}, result = 3;
  std::string object;
  const codegen::TextSink sink{&object, [](void* to, codegen::Text kind, const char* text, size_t size) {
                                 if (kind == codegen::Text::Object) static_cast<std::string*>(to)->assign(text, size);
                               }};
  const codegen::Generator* const generator = codegen::generator();
  if (!generator || !generator->compile_map({codegen::Level::v2, 2, 0, types, steps, 2, &result, 1}, sink)) return {};
  return object;
}

LoadedCode load(std::string_view object, const void* known = nullptr) {
  return load_object(std::as_bytes(std::span(object)), codegen::kEntrySymbol, [=](std::string_view) { return known; });
}

// The message of the error; empty if it loads.
std::string refusal(std::string_view object) {
  try {
    load(object);
    return {};
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == Code::kDataLoss || error.code() == Code::kUnsupported) << error.what();
    return error.what();
  }
}

bool computes(const LoadedCode& code) {
  std::vector<float> x(64), y(64), out(64);
  for (size_t i = 0; i < 64; ++i) x[i] = static_cast<float>(i) - 30.5F, y[i] = static_cast<float>(i * i);
  void* const pointers[] = {x.data(), y.data(), out.data()};
  code.function<MapFn>()(pointers, nullptr, 1, 64);
  for (size_t i = 0; i < 64; ++i) {
    if (out[i] != y[i] + std::fabs(x[i])) return false;
  }
  return true;
}

class ObjectLoader : public testing::Test {
 protected:
  void SetUp() override {
    if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
    object = object_of(ops::abs, f32);
    ASSERT_FALSE(object.empty());
  }
  std::string object;
};

TEST_F(ObjectLoader, RunsTheCodeOfAnObject) {
  LoadedCode code = load(object);
  EXPECT_TRUE(computes(code));
  const LoadedCode moved = std::move(code);
  EXPECT_TRUE(computes(moved));
  EXPECT_GT(moved.entry_size(), 0U);
}

TEST_F(ObjectLoader, TakesBytesAtAnyAddress) {
  for (size_t shift = 1; shift < 8; ++shift) {
    const std::string shifted = std::string(shift, 'x') + object;
    EXPECT_TRUE(computes(load(std::string_view(shifted).substr(shift)))) << shift;
  }
}

TEST_F(ObjectLoader, NoPageIsWritableAndExecutable) {
  const LoadedCode code = load(object);
  std::istringstream maps(read_file("/proc/self/maps"));
  const auto entry = reinterpret_cast<uintptr_t>(code.entry());
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char access[5] = {};
    std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access);
    if (entry < begin || entry >= end) continue;
    found = true;
    EXPECT_STREQ(access, "r-xp");
  }
  EXPECT_TRUE(found);
}

TEST_F(ObjectLoader, CallsWhatTheProgramResolves) {
  static int calls;
  calls = 0;
  const math::TileFn tile = [](const math::TileArgs& args, int64_t begin, int64_t end) {
    ++calls;
    for (int64_t i = begin; i < end; ++i)
      static_cast<double*>(args.out)[i] = 10 * static_cast<const double*>(args.in[0])[i];
  };
  const LoadedCode code = load(object_of(ops::exponential, f64), reinterpret_cast<const void*>(tile));
  std::vector<double> x(64, 3), y(64, 1), out(64);
  void* const pointers[] = {x.data(), y.data(), out.data()};
  code.function<MapFn>()(pointers, nullptr, 1, 64);
  EXPECT_GT(calls, 0);
  EXPECT_EQ(out, std::vector<double>(64, 31));
}

TEST_F(ObjectLoader, UnknownSymbolsAreNamed) {
  EXPECT_NE(refusal(object_of(ops::exponential, f64)).find("'hone_tile_"), std::string::npos);
}

TEST_F(ObjectLoader, UnknownRelocationsAreNamed) {
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, object.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type == SHT_RELA) object[section.sh_offset + offsetof(Elf64_Rela, r_info)] = R_X86_64_GOT32;
  }
  EXPECT_NE(refusal(object).find("relocation 3 (R_X86_64_GOT32)"), std::string::npos) << refusal(object);
}

TEST_F(ObjectLoader, EntriesThatAreMissingAreNamed) {
  try {
    load_object(std::as_bytes(std::span(object)), "nothing", [](std::string_view) { return nullptr; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'nothing'"), std::string::npos);
  }
}

TEST_F(ObjectLoader, TruncatedObjectsAreErrorsAtEachLength) {
  for (size_t size = 0; size < object.size(); ++size) {
    // Of its own size on the heap, so that a sanitizer sees what is read behind it.
    const std::vector<char> part(object.data(), object.data() + size);
    EXPECT_NE(refusal({part.data(), part.size()}), "") << size << " of " << object.size();
  }
}

TEST_F(ObjectLoader, DamagedObjectsAreErrorsOrLoadButDoNotCrash) {
  for (size_t i = 0; i < object.size(); ++i) {
    for (const unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string damaged = object;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ flip);
      refusal(damaged);
    }
  }
}

TEST_F(ObjectLoader, CodeRunsInAForkedChild) {
  const LoadedCode code = load(object);
  const pid_t child = fork();
  if (child == 0) _exit(computes(code) && computes(load(object)) ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(ObjectLoader, MemoryIsFreed) {
  const auto mappings = [] {
    const std::string maps = read_file("/proc/self/maps");
    return std::ranges::count(maps, '\n');
  };
  load(object);
  const auto before = mappings();
  for (int i = 0; i < 200; ++i) load(object);
  EXPECT_LE(mappings(), before + 5);
}

// In a process of its own: what is wanted is read once.
int named_for_perf() {
  setenv("HONE_PERF", "1", 1);
  LoadedCode code = load(object_of(ops::abs, f32));
  announce(code, "map v2 abs add");
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  const std::string text = read_file(path);
  unlink(path.c_str());
  char line[100];
  std::snprintf(line, sizeof line, "%llx %zx hone:map v2 abs add\n",
                static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(code.entry())), code.entry_size());
  return text == line ? 0 : 1;
}
TEST(ObjectLoaderDeathTest, PerfFindsTheNames) {
  if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(named_for_perf()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hone

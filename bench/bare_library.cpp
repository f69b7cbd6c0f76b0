// What a call of Hone adds to the bare oneDNN call below it, both measured in turn: products of two square f32
// matrices, and of few rows with a matrix that lies transposed and one that does not.
//   bare_library [--threads N] [--json]
#include <hone/base/config.h>
#include <hone/base/openmp.h>
#include <hone/base/parallel.h>
#include <hone/base/probe.h>
#include <hone/hone.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>
using namespace hone;

namespace {

// The call alone: memory objects and arguments made once, the second operand packed as the library likes it.
class BareMatmul {
 public:
  BareMatmul(const Tensor& a, const Tensor& b, const Tensor& out)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    using Memory = dnnl::memory;
    const auto describe = [](const Tensor& x, Memory::format_tag tag) {
      return Memory::desc({x.dim(0), x.dim(1)}, Memory::data_type::f32, tag);
    };
    const dnnl::matmul::desc what(describe(a, Memory::format_tag::ab), describe(b, Memory::format_tag::any),
                                  describe(out, Memory::format_tag::ab));
    const dnnl::matmul::primitive_desc how(what, engine_);
    primitive_ = dnnl::matmul(how);
    Memory plain(describe(b, Memory::format_tag::ab), engine_, b.mutable_bytes());
    Memory packed(how.weights_desc(), engine_);
    dnnl::reorder(plain, packed).execute(stream_, plain, packed);
    stream_.wait();
    arguments_ = {{DNNL_ARG_SRC, Memory(how.src_desc(), engine_, a.mutable_bytes())},
                  {DNNL_ARG_WEIGHTS, packed},
                  {DNNL_ARG_DST, Memory(how.dst_desc(), engine_, out.mutable_bytes())}};
  }
  void run() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

// Rows of a times b, which lies as told.
void bare_sgemm(char transposed, const Tensor& a, const Tensor& b, const Tensor& out) {
  const auto floats = [](const Tensor& x) { return static_cast<float*>(static_cast<void*>(x.mutable_bytes())); };
  dnnl::sgemm('N', transposed, a.dim(0), out.dim(1), a.dim(1), 1.0F, floats(a), a.dim(1), floats(b), b.dim(1), 0.0F,
              floats(out), out.dim(1));
}

Tensor uniform(const Shape& shape) { return random::uniform(random::state(shape[0].number()), shape).second; }

// Nanoseconds a call, over a batch of calls.
template <class F>
double time_of(int calls, F call) {
  const int64_t begin = probe::now_ns();
  for (int i = 0; i < calls; ++i) call();
  return static_cast<double>(probe::now_ns() - begin) / calls;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRounds = 201;
  bool json = false;
  int count = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) json = true;
    if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc) count = std::atoi(argv[++i]);
  }
  set_threads(count);
  omp_set_num_threads(count);
  Config::Array results;
  const auto measure = [&](const std::string& name, double products, auto&& bare, auto&& call) {
    const int calls = std::max(5, static_cast<int>(0x1p26 / products));
    std::vector<double> library, hone;
    for (int round = 0; round < kRounds; ++round) {
      library.push_back(time_of(calls, bare));
      hone.push_back(time_of(calls, call));
    }
    const double below = median(library), above = median(hone);
    results.push_back(Config::Table{
        {"name", name}, {"unit", "ns"}, {"median", above}, {"bare_onednn", below}, {"ratio", above / below}});
    if (!json)
      std::printf("%-32s Hone %10.0f ns   bare oneDNN %10.0f ns   ratio %.2f\n", name.c_str(), above, below,
                  above / below);
  };
  for (const int64_t n : {32, 64, 128, 256}) {
    const Tensor a = uniform({n, n}), b = uniform({n, n}), out = Tensor::empty({f32, {n, n}});
    BareMatmul bare(a, b, out);
    measure(
        fmt::format("matmul.{}", n), static_cast<double>(n * n * n), [&] { bare.run(); }, [&] { (void)matmul(a, b); });
  }
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{32, 128, 512}, {32, 784, 512}, {128, 512, 512}, {256, 512, 512}}) {
    const Tensor a = uniform({m, k}), b = uniform({n, k}), rows = uniform({k, n}), out = Tensor::empty({f32, {m, n}});
    const std::string size = fmt::format("{}x{}x{}", m, n, k);
    const auto products = static_cast<double>(m * n * k);
    measure(
        "matmul_transposed." + size, products, [&] { bare_sgemm('T', a, b, out); },
        [&] { (void)matmul(a, b, {.transpose_b = true}); });
    measure("matmul_by_rows." + size, products, [&] { bare_sgemm('N', a, rows, out); }, [&] { (void)matmul(a, rows); });
  }
  if (json)
    std::printf("%s\n", to_json(Config(Config::Table{{"schema", "hone.bench/1"},
                                                     {"system", "hone"},
                                                     {"suite", "bare_library"},
                                                     {"threads", static_cast<int64_t>(count)},
                                                     {"results", results}}))
                            .c_str());
}

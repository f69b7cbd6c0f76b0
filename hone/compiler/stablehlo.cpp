#include "hone/compiler/stablehlo.h"

#include <fmt/format.h>

#include <cstring>
#include <unordered_map>

#include "hone/base/error.h"
#include "hone/compiler/stablehlo_forms.h"
#include "hone/ops/kernel.h"

namespace hone::compiler {
namespace {

using ir::Node;
using ir::Reader;
using ir::Writer;

class StableHlo final : public ir::Dialect {
 public:
  StableHlo() {
    for (const Forms& forms : {elementwise_forms(), movement_forms(), indexing_forms(), reduction_forms(),
                               sorting_forms(), contraction_forms(), control_forms(), check_forms()}) {
      for (const WriteForm& form : forms.write) write_.emplace(form.op, form.write);
      for (const ReadForm& form : forms.read) read_.emplace(form.name, form.read);
    }
  }

  ir::ValueId splat(ir::Builder& builder, const Tensor& element, const TensorType& type,
                    uint32_t origin) const override {
    ConstantAttrs attrs{type.dtype, type.shape, 0};
    std::memcpy(&attrs.bits, element.raw(), size_of(type.dtype));
    return builder.add_one(ops::constant, attrs, {}, origin);
  }

  bool is_splat(const Node& node, Tensor& element) const override {
    if (node.op != &ops::constant) return false;
    const auto& attrs = node.attrs.as<ConstantAttrs>();
    if (!attrs.shape.is_static()) return false;
    element = Tensor::empty({attrs.dtype, {}});
    std::memcpy(element.mutable_bytes(), &attrs.bits, size_of(attrs.dtype));
    return true;
  }

  bool read(Reader& reader, const ir::text::Operation& operation) const override {
    if (const auto form = read_.find(operation.name); form != read_.end()) {
      form->second(reader);
      return true;
    }
    constexpr std::string_view kPrefix = "stablehlo.";
    if (!operation.name.starts_with(kPrefix)) return false;
    const Op* const op = find_op(std::string_view(operation.name).substr(kPrefix.size()));
    if (!op || op->op_class != OpClass::Elementwise || op->decompose || op->attrs) return false;
    reader.result(reader.add(*op, {}, reader.all_operands()));
    return true;
  }

  bool write(Writer& writer, const Node& node) const override {
    const auto form = write_.find(node.op);
    if (form != write_.end() && form->second(writer, node)) return true;
    if (!node.op->decompose) return false;
    return write_composite(writer, node, [&](std::span<const Tensor> inputs) {
      std::vector<Tensor> operands(inputs.begin(), inputs.end()), results(node.results);
      hone::decompose({*node.op, node.attrs, operands, results, {}});
      return results;
    });
  }

 private:
  std::unordered_map<const Op*, bool (*)(Writer&, const Node&)> write_;
  std::unordered_map<std::string_view, void (*)(Reader&)> read_;
};

const StableHlo& dialect() {
  static const StableHlo dialect;
  return dialect;
}

}  // namespace

std::string to_text(const ir::Graph& graph, ir::TextOptions options) {
  return Writer(dialect(), options).module(graph);
}

ir::Graph parse_text(std::string_view text, std::string_view file) {
  if (text.starts_with("ML\xEFR")) {
    throw Error(Code::kInvalidArgument, fmt::format("{} is MLIR bytecode, not text", file),
                "write it as text: jax.jit(f).lower(x).as_text(), or stablehlo-translate --deserialize");
  }
  const ir::text::Module module = ir::text::parse_module(text, file);
  return Reader(module, dialect()).read();
}

}  // namespace hone::compiler

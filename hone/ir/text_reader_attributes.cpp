// Attributes of operations, as dialects ask for them.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "hone/base/error.h"
#include "hone/ir/text_reader.h"

namespace hone::ir {

using text::Attribute;
using Kind = Attribute::Kind;

const Attribute* Reader::attribute(std::string_view name, std::string_view other) const {
  const Attribute* const found = operation_->find(name);
  return found || other.empty() ? found : operation_->find(other);
}

int64_t Reader::integer(std::string_view name, std::string_view other) const {
  const Attribute* const found = attribute(name, other);
  if (!found || found->kind != Kind::Integer) fail(fmt::format("the attribute {} must be an integer", name));
  return found->integer;
}

std::vector<int64_t> Reader::integers(const Attribute& attribute) const {
  std::vector<int64_t> out;
  if (attribute.kind == Kind::Elements && attribute.tensor.defined()) {
    int64_t count = 1;
    for (const int64_t extent : attribute.type.dims) count *= extent;
    const auto* bytes = static_cast<const std::byte*>(attribute.tensor.raw());
    const size_t size = size_of(attribute.type.dtype);
    if (!is_integer(attribute.type.dtype) && attribute.type.dtype != bool_) fail(attribute.place, "integers expected");
    for (int64_t i = 0; i < count; ++i) {
      int64_t value = 0;
      std::memcpy(&value, bytes + (attribute.tensor.rank() == 0 ? 0 : static_cast<size_t>(i) * size), size);
      if (is_signed_integer(attribute.type.dtype) && size < 8 && (value >> (8 * size - 1) & 1))
        value -= 1LL << (8 * size);
      out.push_back(value);
    }
    return out;
  }
  if (attribute.kind != Kind::List) fail(attribute.place, "a list of integers expected");
  for (const Attribute& item : attribute.items) {
    if (item.kind == Kind::List) {
      for (const int64_t value : integers(item)) out.push_back(value);
    } else if (item.kind == Kind::Integer || item.kind == Kind::Bool) {
      out.push_back(item.integer);
    } else {
      fail(item.place, "an integer expected");
    }
  }
  return out;
}

std::vector<int64_t> Reader::integers(std::string_view name, std::string_view other) const {
  const Attribute* const found = attribute(name, other);
  return found ? integers(*found) : std::vector<int64_t>();
}

Ints Reader::ints(const Attribute& attribute) const {
  const std::vector<int64_t> values = integers(attribute);
  return Ints(std::span<const int64_t>(values));
}

Ints Reader::ints(std::string_view name, std::string_view other) const {
  const Attribute* const found = attribute(name, other);
  return found ? ints(*found) : Ints();
}

class Reader::FieldReader final : public AttrVisitor {
 public:
  FieldReader(Reader& reader, const text::Fields& fields) : reader_(reader), fields_(fields) {}
  // Notes what is wrong: attributes are half made while it runs.
  std::string wrong;
  size_t used = 0;

  void field(const char* name, int64_t& value) override {
    if (const Attribute* found = find(name, Kind::Integer)) value = found->integer;
  }
  void field(const char* name, double& value) override {
    const Attribute* const found = find(name, Kind::Float, Kind::Integer);
    if (found) value = found->text.starts_with("0x") ? std::bit_cast<double>(found->integer) : found->number;
  }
  void field(const char* name, bool& value) override {
    if (const Attribute* found = find(name, Kind::Bool)) value = found->integer != 0;
  }
  void field(const char* name, DType& value) override {
    if (const Attribute* found = find(name, Kind::Type)) value = found->type.dtype;
  }
  void field(const char* name, Shape& value) override {
    const Attribute* const found = find(name, Kind::List, Kind::String);
    if (!found) return;
    value.clear();
    if (found->kind == Kind::String) {
      if (!text::parse_shape(found->text, value)) wrong = name;
      return;
    }
    for (const Attribute& item : found->items) {
      if (item.kind != Kind::Integer || value.size() == kMaxRank) return void(wrong = name);
      value.push_back(item.integer);
    }
  }
  void field(const char* name, Ints& value) override {
    const Attribute* const found = find(name, Kind::List);
    if (!found) return;
    value.clear();
    for (const Attribute& item : found->items) {
      if (item.kind != Kind::Integer || value.size() == kMaxRank) return void(wrong = name);
      value.push_back(item.integer);
    }
  }
  void field(const char* name, std::string& value) override {
    if (const Attribute* found = find(name, Kind::String)) value = found->text;
  }
  void field(const char* name, Regions& value) override {
    const Attribute* const found = find(name, Kind::List);
    if (!found || found->items.empty()) return void(wrong = name);
    for (const Attribute& item : found->items) {
      try {
        std::vector<TensorType> types;
        for (const text::Argument& argument : reader_.find_function(item.text).regions[0].arguments)
          types.push_back(reader_.input_type(argument));
        value.push_back(reader_.function(item.text, types));
      } catch (const Skip&) {
        wrong = name;
      } catch (const Error& error) {
        wrong = std::string(name) + ": " + error.what();
      }
    }
  }

 private:
  const Attribute* find(std::string_view name, Kind kind, Kind other = Kind::Unit) {
    const Attribute* const found = text::find(fields_, name);
    if (!found) return nullptr;
    ++used;
    if (found->kind == kind || (other != Kind::Unit && found->kind == other)) return found;
    wrong = name;
    return nullptr;
  }
  Reader& reader_;
  const text::Fields& fields_;
};

Attrs Reader::attrs(const Op& op, const text::Fields& fields) {
  FieldReader visitor(*this, fields);
  Attrs out(op.attrs, visitor);
  if (!visitor.wrong.empty()) fail(fmt::format("the attribute {} of {} does not fit", visitor.wrong, op.name));
  if (visitor.used != fields.size()) fail(fmt::format("{} has no such attribute", op.name));
  return out;
}

}  // namespace hone::ir

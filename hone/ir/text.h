// The syntax of the text form: MLIR, as far as StableHLO programs use it. Read here into a tree; what its operations
// mean is a dialect's (text_reader.h).
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hone/tensor/tensor.h"

namespace hone::ir::text {

struct Place {
  uint32_t line = 0, column = 0;  ///< from 1
  auto operator<=>(const Place&) const = default;
};

inline constexpr int64_t kUnknown = -1;  ///< the extent `?`

struct Type {
  bool known = false;  ///< a tensor (or a bare scalar) of a dtype that Hone has
  DType dtype = DType::f32;
  std::vector<int64_t> dims;
  std::string spelling;  ///< as written
  bool is_static() const;
  /// Of a known type without `?`.
  TensorType tensor() const;
};

struct Attribute;
using Fields = std::vector<std::pair<std::string, Attribute>>;
/// The value of this name, or null.
const Attribute* find(const Fields& fields, std::string_view name);

struct Attribute {
  enum class Kind : uint8_t { Unit, Bool, Integer, Float, String, Symbol, Word, List, Dict, Elements, Type };
  Kind kind = Kind::Unit;
  Place place;
  int64_t integer = 0;             ///< of Integer and Bool
  double number = 0;               ///< of Float and Integer
  std::string text;                ///< of String, Symbol and Word (the case of an enumeration: LT)
  std::vector<Attribute> items{};  ///< of List
  Fields fields{};                 ///< of Dict
  Tensor tensor;                   ///< of Elements: all of them, or one (rank 0) that stands for all
  Type type;                       ///< of Elements and Type
};

/// A use of a value: %name, or %name#index.
struct Use {
  std::string name;
  uint32_t index = 0;
  Place place;
};

/// Where the program that was printed says that an operation comes from; line 0 if it does not.
struct Origin {
  std::string file, name;
  uint32_t line = 0;
  std::string alias;  ///< #loc3, looked up in Module::origins
};

struct Operation;
struct Argument {
  std::string name;
  Type type;
  Fields attributes;
  Place place;
};
/// One block.
struct Region {
  std::vector<Argument> arguments;
  std::vector<Operation> operations;
  Place place;
};

/// An operation in either form. Pretty forms come as their parts: uses, words, key = value pairs, lone values, regions;
/// which part plays which role is its dialect's matter.
struct Operation {
  std::string name;  ///< "stablehlo.add"
  Place place;
  std::vector<std::pair<std::string, uint32_t>> results;  ///< name and number: %0:2
  std::vector<Use> operands;
  std::vector<std::string> binders;  ///< names that a pretty while gives its operands inside
  Fields attributes;
  std::vector<std::string> words;
  std::vector<Attribute> values;
  std::vector<Region> regions;
  std::vector<Type> operand_types, result_types;  ///< without an arrow both are what was written
  bool arrow = false;
  Origin origin;

  const Attribute* find(std::string_view key) const { return text::find(attributes, key); }
  bool says(std::string_view word) const;
};

struct Module {
  std::string file;
  std::vector<Operation> functions;  ///< func.func: sym_name among the attributes, one region
  std::unordered_map<std::string, Origin> origins;
};

/// Error kInvalidArgument names file:line:column, what was expected and what stands there; kUnsupported for syntax
/// beyond what StableHLO programs use (several blocks).
Module parse_module(std::string_view source, std::string_view file);

/// "[4,2*batch + 1]" as printed by to_string(Shape); its symbols exist. False if it is none.
bool parse_shape(std::string_view source, Shape& shape);

}  // namespace hone::ir::text

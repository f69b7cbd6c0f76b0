#include "hone/ir/text_attribute_parser.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "hone/base/error.h"
#include "hone/ir/text_literal.h"

namespace hone::ir::text {
namespace {

using Kind = Attribute::Kind;
constexpr int kMaxDepth = 200;               // of regions, attributes and origins in each other
constexpr int64_t kMaxElements = 1LL << 32;  // of a constant

bool parse_dtype_word(std::string_view word, DType& dtype) {
  constexpr std::pair<std::string_view, DType> kNames[] = {
      {"f32", f32},  {"f64", f64}, {"f16", f16},  {"bf16", bf16}, {"i1", bool_}, {"i8", i8},
      {"i16", i16},  {"i32", i32}, {"i64", i64},  {"ui8", u8},    {"ui16", u16}, {"ui32", u32},
      {"ui64", u64}, {"si8", i8},  {"si16", i16}, {"si32", i32},  {"si64", i64}, {"index", i64}};
  for (const auto& [name, type] : kNames) {
    if (name == word) return dtype = type, true;
  }
  return false;
}

}  // namespace

AttributeParser::Depth::Depth(AttributeParser& parser) : parser(parser) {
  if (++parser.depth_ > kMaxDepth) parser.lexer_.fail(fmt::format("at most {} levels of nesting", kMaxDepth));
}

void AttributeParser::unsupported(Place place, std::string_view what) const {
  throw Error(Code::kUnsupported, fmt::format("{}:{}:{}: {}", file_, place.line, place.column, what));
}

Type AttributeParser::type() {
  const Depth depth(*this);
  const Token token = lexer_.peek();
  Type type;
  if (token.is('(')) {  // a function's type: only in attributes, where nobody asks
    lexer_.next();
    while (!lexer_.accept(')')) {
      this->type();
      if (!lexer_.accept(',') && !lexer_.peek().is(')')) lexer_.fail("',' or ')'");
    }
    if (!lexer_.peek().arrow()) lexer_.fail("'->'");
    lexer_.next();
    this->type();
    type.spelling = "a function";
    return type;
  }
  if (token.kind != Token::Kind::Word && token.kind != Token::Kind::Bang) lexer_.fail("a type");
  size_t end = token.end;
  const std::string_view source = lexer_.source();
  if (end < source.size() && source[end] == '<') {
    int open = 0;
    for (;; ++end) {
      if (end == source.size() || source[end] == '\n') lexer_.fail("a type that ends on its line");
      if (source[end] == '-' && end + 1 < source.size() && source[end + 1] == '>') {
        ++end;
        continue;
      }
      open += source[end] == '<';
      open -= source[end] == '>';
      if (open == 0) break;
    }
    ++end;
  }
  type.spelling = source.substr(token.begin, end - token.begin);
  if (token.is("tensor") && end > token.end)
    tensor_type(source.substr(token.end + 1, end - token.end - 2), type, token);
  else if (token.kind == Token::Kind::Word)
    type.known = parse_dtype_word(token.text, type.dtype);
  lexer_.seek(end);
  return type;
}

void AttributeParser::tensor_type(std::string_view body, Type& type, const Token& token) {
  const size_t comma = body.find_first_of(",<");
  const bool nested = comma != std::string_view::npos && body[comma] == '<';  // complex<f32>
  std::string_view rest = body.substr(0, nested ? body.size() : comma);
  while (!rest.empty() && (rest[0] == '?' || (rest[0] >= '0' && rest[0] <= '9'))) {
    const size_t x = rest.find('x');
    if (x == std::string_view::npos) break;
    int64_t extent = kUnknown;
    if (rest[0] != '?') {
      const char *const first = &rest[0], *const last = first + x;
      const auto result = std::from_chars(first, last, extent);
      if (result.ec != std::errc() || result.ptr != last) lexer_.fail(token, "a tensor's extents");
    }
    type.dims.push_back(extent);
    rest.remove_prefix(x + 1);
  }
  type.known = parse_dtype_word(rest, type.dtype) && rest != "index" && type.dims.size() <= kMaxRank &&
               comma == std::string_view::npos;
}

void AttributeParser::types(std::vector<Type>& out) {
  if (!lexer_.accept('(')) {
    out.push_back(type());
    return;
  }
  while (!lexer_.accept(')')) {
    out.push_back(type());
    if (lexer_.peek().kind != Token::Kind::End && lexer_.peek().is('{')) dictionary();  // of a result
    if (!lexer_.accept(',') && !lexer_.peek().is(')')) lexer_.fail("',' or ')'");
  }
}

void AttributeParser::signature(Operation& operation) {
  types(operation.operand_types);
  if (!lexer_.peek().arrow()) {
    while (lexer_.accept(',')) operation.operand_types.push_back(type());
  }
  if (lexer_.peek().arrow()) {
    lexer_.next();
    operation.arrow = true;
    types(operation.result_types);
  } else {
    operation.result_types = operation.operand_types;
  }
}

Fields AttributeParser::dictionary() {
  lexer_.expect('{');
  return fields('}');
}

Fields AttributeParser::fields(char close) {
  const Depth depth(*this);
  Fields out;
  while (!lexer_.accept(close)) {
    const Token key = lexer_.next();
    if (key.kind != Token::Kind::Word && key.kind != Token::Kind::String) lexer_.fail(key, "an attribute's name");
    Attribute value;
    value.place = key.place;
    if (lexer_.accept('=')) value = attribute();
    out.emplace_back(unescape(key.text), std::move(value));
    if (!lexer_.accept(',') && !lexer_.peek().is(close)) lexer_.fail(fmt::format("',' or '{}'", close));
  }
  return out;
}

Attribute AttributeParser::attribute() {
  Attribute value = bare_attribute();
  if (value.kind != Kind::Elements && lexer_.accept(':')) value.type = type();
  return value;
}

Attribute AttributeParser::bare_attribute() {
  const Depth depth(*this);
  const Token token = lexer_.peek();
  Attribute value;
  value.place = token.place;
  switch (token.kind) {
    case Token::Kind::Number:
      return number();
    case Token::Kind::String:
      value.kind = Kind::String;
      value.text = unescape(lexer_.next().text);
      return value;
    case Token::Kind::Symbol:
      value.kind = Kind::Symbol;
      value.text = lexer_.next().text;
      return value;
    case Token::Kind::Hash:
      lexer_.next();
      value.kind = Kind::Word;
      value.text = token.text;
      if (lexer_.peek().is('<')) angle(value);
      return value;
    case Token::Kind::Punctuation:
      if (token.is('[')) return list();
      if (token.is('(')) {
        value.kind = Kind::Type;
        value.type = type();
        return value;
      }
      if (token.is('{')) {
        value.kind = Kind::Dict;
        value.fields = dictionary();
        return value;
      }
      if (token.is('<')) {
        angle(value);
        return value;
      }
      break;
    case Token::Kind::Bang:
      value.kind = Kind::Type;
      value.type = type();
      return value;
    case Token::Kind::Word:
      return word();
    default:
      break;
  }
  lexer_.fail("an attribute's value");
}

Attribute AttributeParser::word() {
  const Token token = lexer_.peek();
  Attribute value;
  value.place = token.place;
  if (token.is("true") || token.is("false")) {
    lexer_.next();
    value.kind = Kind::Bool;
    value.integer = token.is("true");
    return value;
  }
  if (token.is("unit")) {
    lexer_.next();
    return value;
  }
  if (token.is("dense")) return elements();
  if (token.is("dense_resource")) unsupported(token.place, "dense_resource<...>: print the program with its constants");
  if (token.is("array")) return array();
  if (token.is("loc")) {
    origin();
    return value;
  }
  DType dtype{};
  if (token.is("tensor") || token.is("tuple") || token.is("complex") || parse_dtype_word(token.text, dtype)) {
    value.kind = Kind::Type;
    value.type = type();
    return value;
  }
  lexer_.next();
  value.kind = Kind::Word;
  value.text = token.text;
  return value;
}

Attribute AttributeParser::number() {
  const Token token = lexer_.next();
  Attribute value;
  value.place = token.place;
  const bool hex = token.text.starts_with("0x");
  if (!hex && token.text.find_first_of(".eE") != std::string_view::npos) {
    value.kind = Kind::Float;
    std::byte bits[8];
    if (!parse_element(token.text, f64, bits)) lexer_.fail(token, "a number");
    std::memcpy(&value.number, bits, sizeof value.number);
    return value;
  }
  value.kind = Kind::Integer;
  std::byte bits[8] = {};
  if (!parse_element(token.text, i64, bits) && !parse_element(token.text, u64, bits))
    lexer_.fail(token, "a number of 64 bits");
  std::memcpy(&value.integer, bits, sizeof value.integer);
  value.number = static_cast<double>(value.integer);
  if (hex) value.text = token.text;
  return value;
}

Attribute AttributeParser::list() {
  Attribute first = simple_list();
  const bool chained = lexer_.peek().is("x") || (lexer_.peek().arrow() && lexer_.second().is('['));
  if (!chained) return first;
  Attribute all;
  all.kind = Kind::List;
  all.place = first.place;
  all.items.push_back(std::move(first));
  while (lexer_.accept("x") || lexer_.peek().arrow()) {
    if (lexer_.peek().arrow()) lexer_.next();
    all.items.push_back(simple_list());
  }
  return all;
}

Attribute AttributeParser::simple_list() {
  const Depth depth(*this);
  Attribute value;
  value.kind = Kind::List;
  value.place = lexer_.peek().place;
  lexer_.expect('[');
  while (!lexer_.accept(']')) {
    Attribute item = bare_attribute();
    if (lexer_.peek().is(':')) {
      Attribute range;
      range.kind = Kind::List;
      range.place = item.place;
      range.items.push_back(std::move(item));
      while (lexer_.accept(':')) {
        if (lexer_.peek().kind == Token::Kind::Number)
          range.items.push_back(number());
        else
          type();  // [1 : i64, 2 : i64]
      }
      item = range.items.size() == 1 ? Attribute(range.items[0]) : std::move(range);
    }
    value.items.push_back(std::move(item));
    if (!lexer_.accept(',') && !lexer_.peek().is(']')) lexer_.fail("',' or ']'");
  }
  return value;
}

void AttributeParser::angle(Attribute& value) {
  const Depth depth(*this);
  lexer_.expect('<');
  value.kind = Kind::Dict;
  while (!lexer_.accept('>')) {
    const Token token = lexer_.peek();
    if (token.is('[')) {
      value = list();
    } else if (token.kind == Token::Kind::Word && lexer_.second().is('=')) {
      lexer_.next(), lexer_.next();
      value.fields.emplace_back(std::string(token.text), bare_attribute());
      if (lexer_.accept(':')) type();
    } else if (token.kind == Token::Kind::Word) {
      lexer_.next();
      value.kind = Kind::Word;
      value.text = token.text;
    } else if (token.is(',')) {
      lexer_.next();
    } else {
      bare_attribute();
    }
    if (lexer_.peek().kind == Token::Kind::End) lexer_.fail("'>'");
  }
}

Attribute AttributeParser::array() {
  Attribute value;
  value.kind = Kind::List;
  value.place = lexer_.next().place;
  lexer_.expect('<');
  type();
  if (lexer_.accept(':')) {
    do value.items.push_back(bare_attribute());
    while (lexer_.accept(','));
  }
  lexer_.expect('>');
  return value;
}

void AttributeParser::scalars(std::vector<Token>& out) {
  const Depth depth(*this);
  const bool round = lexer_.peek().is('(');
  if (lexer_.accept('[') || lexer_.accept('(')) {
    const char close = round ? ')' : ']';
    while (!lexer_.accept(close)) {
      scalars(out);
      if (!lexer_.accept(',') && !lexer_.peek().is(close)) lexer_.fail(fmt::format("',' or '{}'", close));
    }
    return;
  }
  const Token token = lexer_.next();
  if (token.kind != Token::Kind::Number && !token.is("true") && !token.is("false")) lexer_.fail(token, "a number");
  out.push_back(token);
}

Attribute AttributeParser::elements() {
  Attribute value;
  value.kind = Kind::Elements;
  value.place = lexer_.next().place;
  lexer_.expect('<');
  std::vector<Token> list;
  const Token first = lexer_.peek();
  if (first.kind == Token::Kind::String)
    lexer_.next();
  else if (!first.is('>'))
    scalars(list);
  const bool single = list.size() == 1 && !first.is('[');
  lexer_.expect('>');
  lexer_.expect(':');
  const Token type_token = lexer_.peek();
  value.type = type();
  if (!value.type.known || !value.type.is_static()) return value;
  const TensorType type = value.type.tensor();
  double product = 1;
  for (const int64_t extent : value.type.dims) product *= static_cast<double>(extent);
  if (product > static_cast<double>(kMaxElements)) lexer_.fail(type_token, "a constant of at most 2^32 elements");
  if (first.kind == Token::Kind::String) {
    bool splat = false;
    if (!first.text.starts_with("0x") || !parse_bytes(first.text.substr(2), type, value.tensor, splat))
      lexer_.fail(first, fmt::format("the bytes of {} in hexadecimal", to_string(type)));
    return value;
  }
  const auto count = static_cast<size_t>(type.shape.count());
  if (!single && list.size() != count)
    lexer_.fail(first, fmt::format("{} elements ({} are there)", count, list.size()));
  value.tensor = Tensor::empty(single ? TensorType{type.dtype, {}} : type);
  for (size_t i = 0; i < list.size(); ++i) {
    if (!parse_element(list[i].text, type.dtype, value.tensor.mutable_bytes() + i * size_of(type.dtype)))
      lexer_.fail(list[i], fmt::format("an element of {}", name(type.dtype)));
  }
  return value;
}

Origin AttributeParser::origin() {
  lexer_.next();
  lexer_.expect('(');
  Origin origin = origin_body();
  lexer_.expect(')');
  return origin;
}

Origin AttributeParser::origin_body() {
  const Depth depth(*this);
  Origin origin;
  const Token token = lexer_.next();
  if (token.kind == Token::Kind::Hash) {
    origin.alias = token.text;
  } else if (token.kind == Token::Kind::String) {
    if (lexer_.accept(':')) {
      origin.file = unescape(token.text);
      const Token line = lexer_.next();
      std::from_chars(line.text.data(), line.text.data() + line.text.size(), origin.line);
      while (lexer_.accept(':') || lexer_.accept("to") || lexer_.peek().kind == Token::Kind::Number) {
        if (lexer_.peek().kind == Token::Kind::Number) lexer_.next();
      }
    } else {
      if (lexer_.accept('(')) {
        origin = origin_body();
        lexer_.expect(')');
      }
      origin.name = unescape(token.text);
    }
  } else if (token.is("callsite")) {
    lexer_.expect('(');
    origin = origin_body();
    if (!lexer_.accept("at")) lexer_.fail("'at'");
    origin_body();
    lexer_.expect(')');
  } else if (token.is("fused")) {
    if (lexer_.peek().is('<')) {
      Attribute ignored;
      angle(ignored);
    }
    lexer_.expect('[');
    bool first = true;
    while (!lexer_.accept(']')) {
      Origin part = origin_body();
      if (first) origin = std::move(part);
      first = false;
      if (!lexer_.accept(',') && !lexer_.peek().is(']')) lexer_.fail("',' or ']'");
    }
  } else if (!token.is("unknown")) {
    lexer_.fail(token, "a location");
  }
  return origin;
}

}  // namespace hone::ir::text

// From source text to the tree of text.h.
#include <fmt/format.h>

#include <charconv>

#include "hone/base/error.h"
#include "hone/ir/text_attribute_parser.h"

namespace hone::ir::text {
namespace {

using Kind = Attribute::Kind;

class Parser : private AttributeParser {
 public:
  Parser(std::string_view source, std::string_view file) : AttributeParser(source, file) {}

  Module module() {
    module_.file = file_;
    while (lexer_.peek().kind != Token::Kind::End) top_level(module_.functions);
    if (module_.functions.empty()) lexer_.fail("a function: func.func @main(...)");
    return std::move(module_);
  }

 private:
  void top_level(std::vector<Operation>& functions) {
    const Depth depth(*this);
    const Token& token = lexer_.peek();
    if (token.kind == Token::Kind::Hash) return alias();
    if (token.is("module") || token.is("builtin.module")) {
      lexer_.next();
      if (lexer_.peek().kind == Token::Kind::Symbol) lexer_.next();
      if (lexer_.accept("attributes")) dictionary();
      lexer_.expect('{');
      while (!lexer_.accept('}')) top_level(functions);
      if (lexer_.peek().is("loc")) origin();
      return;
    }
    Operation operation = this->operation();
    if (operation.name == "builtin.module") {
      for (Region& region : operation.regions) {
        for (Operation& inner : region.operations) take_function(std::move(inner), functions);
      }
    } else {
      take_function(std::move(operation), functions);
    }
  }

  void take_function(Operation&& operation, std::vector<Operation>& functions) {
    if (operation.name != "func.func")
      unsupported(operation.place, fmt::format("{} outside of a function", operation.name));
    functions.push_back(std::move(operation));
  }

  void alias() {
    const std::string name(lexer_.next().text);
    lexer_.expect('=');
    if (lexer_.peek().is("loc")) {
      Origin origin = this->origin();
      module_.origins.emplace(name, std::move(origin));
    } else {
      attribute();
    }
  }

  // ---- operations

  Argument argument() {
    Argument out;
    const Token token = lexer_.next();
    if (token.kind != Token::Kind::Value) lexer_.fail(token, "an argument: %name");
    out.name = token.text;
    out.place = token.place;
    lexer_.expect(':');
    out.type = type();
    if (lexer_.peek().is('{')) out.attributes = dictionary();
    if (lexer_.peek().is("loc")) origin();
    return out;
  }

  void arguments(std::vector<Argument>& out) {
    lexer_.expect('(');
    while (!lexer_.accept(')')) {
      out.push_back(argument());
      if (!lexer_.accept(',') && !lexer_.peek().is(')')) lexer_.fail("',' or ')'");
    }
  }

  // After '{'.
  Region region(std::vector<Argument> given = {}) {
    const Depth depth(*this);
    Region out;
    out.place = lexer_.peek().place;
    out.arguments = std::move(given);
    if (lexer_.peek().kind == Token::Kind::Block) {
      lexer_.next();
      if (lexer_.peek().is('(')) arguments(out.arguments);
      lexer_.expect(':');
    }
    while (!lexer_.accept('}')) {
      if (lexer_.peek().kind == Token::Kind::Block)
        unsupported(lexer_.peek().place, "a region of several blocks: StableHLO's have one");
      out.operations.push_back(operation());
    }
    return out;
  }

  Operation operation() {
    const Depth depth(*this);
    Operation out;
    out.place = lexer_.peek().place;
    if (lexer_.peek().kind == Token::Kind::Value) {
      do {
        const Token token = lexer_.next();
        if (token.kind != Token::Kind::Value) lexer_.fail(token, "a result: %name");
        uint32_t count = 1;
        if (lexer_.accept(':')) {
          const Token number = lexer_.next();
          const auto result = std::from_chars(number.text.data(), number.text.data() + number.text.size(), count);
          if (number.kind != Token::Kind::Number || result.ec != std::errc() || count < 1 || count > 100'000)
            lexer_.fail(number, "a number of results");
        }
        out.results.emplace_back(token.text, count);
      } while (lexer_.accept(','));
      lexer_.expect('=');
    }
    const Token name = lexer_.next();
    if (name.kind != Token::Kind::Word && name.kind != Token::Kind::String) lexer_.fail(name, "an operation");
    out.place = name.place;
    out.name = name.text;
    if (out.name == "func.func" && name.kind == Token::Kind::Word)
      function(out);
    else
      body(out, name.kind == Token::Kind::String);
    if (lexer_.peek().is("loc") && lexer_.second().is('(')) out.origin = origin();
    return out;
  }

  void function(Operation& out) {
    while (lexer_.accept("public") || lexer_.accept("private") || lexer_.accept("nested")) {
    }
    const Token symbol = lexer_.next();
    if (symbol.kind != Token::Kind::Symbol) lexer_.fail(symbol, "a function's name: @main");
    Attribute name;
    name.kind = Kind::String;
    name.text = symbol.text;
    name.place = symbol.place;
    out.attributes.emplace_back("sym_name", std::move(name));
    std::vector<Argument> arguments;
    this->arguments(arguments);
    if (lexer_.peek().arrow()) {
      lexer_.next();
      types(out.result_types);
    }
    if (lexer_.accept("attributes")) add(out.attributes, dictionary());
    lexer_.expect('{');
    out.regions.push_back(region(std::move(arguments)));
  }

  static void add(Fields& to, Fields&& from) {
    for (auto& field : from) to.push_back(std::move(field));
  }

  // Without braces or commas that say otherwise a pretty form ends with its line.
  static bool ends(const Token& token, const Token& last, int open) {
    if (token.kind == Token::Kind::End || token.is('}')) return true;
    if (!token.first || open > 0 || last.is(',') || last.is('=')) return false;
    return !(token.is(':') || token.is('{') || token.is('<') || token.is('('));
  }

  void body(Operation& out, bool generic) {
    int open = 0;
    Token last;
    for (;;) {
      const Token token = lexer_.peek();
      if (ends(token, last, open)) {
        if (open > 0) lexer_.fail("')'");
        return;
      }
      if (open == 0 && token.is("loc") && lexer_.second().is('(')) return;
      last = token;
      if (token.is(':') && open == 0) {
        lexer_.next();
        signature(out);
        return trailing_regions(out);
      }
      if (token.is('(')) {
        lexer_.next();
        ++open;
        if (lexer_.peek().is('{')) regions(out);
      } else if (token.is(')')) {
        if (open == 0) return;
        lexer_.next();
        --open;
      } else if (token.is('<')) {
        lexer_.next();
        if (lexer_.peek().is('{')) {
          add(out.attributes, dictionary());
          lexer_.expect('>');
        } else {
          lexer_.fail("'<{'");
        }
      } else if (token.is('{')) {
        add(out.attributes, dictionary());
      } else if (token.is(',')) {
        lexer_.next();
      } else {
        part(out, generic);
      }
    }
  }

  void regions(Operation& out) {
    do {
      lexer_.expect('{');
      out.regions.push_back(region());
    } while (lexer_.accept(','));
  }

  // One part of a pretty form: a use, key = value, a word, a value.
  void part(Operation& out, bool generic) {
    const Token token = lexer_.peek();
    if (token.kind == Token::Kind::Value) {
      Use use = this->use();
      if (lexer_.accept('=')) {
        out.binders.push_back(use.name);
        use = this->use();
      }
      out.operands.push_back(std::move(use));
      return;
    }
    if (token.kind == Token::Kind::Block) unsupported(token.place, "branches between blocks");
    const bool value_word = token.is("dense") || token.is("true") || token.is("false") || token.is("array");
    if (!generic && token.kind == Token::Kind::Word && !value_word) {
      lexer_.next();
      if (lexer_.accept('=')) {
        const bool braces = lexer_.peek().is('{');
        Attribute value = braces ? Attribute() : bare_attribute();
        if (braces) {
          value.kind = Kind::Dict;
          value.fields = dictionary();
        }
        out.attributes.emplace_back(std::string(token.text), std::move(value));
      } else {
        out.words.emplace_back(token.text);
        if (token.is("init")) lexer_.expect(':');
      }
      return;
    }
    out.values.push_back(bare_attribute());
  }

  Use use() {
    const Token token = lexer_.next();
    if (token.kind != Token::Kind::Value) lexer_.fail(token, "a value: %name");
    Use use{std::string(token.text), 0, token.place};
    const Token& index = lexer_.peek();
    if (index.kind == Token::Kind::Hash && index.begin == token.end) {
      const auto result = std::from_chars(index.text.data(), index.text.data() + index.text.size(), use.index);
      if (result.ec != std::errc()) lexer_.fail("the number of a result");
      lexer_.next();
    }
    return use;
  }

  // The regions that pretty forms put behind the types: a reducer, a loop's condition and body.
  void trailing_regions(Operation& out) {
    if (lexer_.peek().is("attributes") && lexer_.second().is('{')) {
      lexer_.next();
      add(out.attributes, dictionary());
    }
    if (lexer_.accept("reducer")) {
      std::vector<Argument> left, right;
      while (lexer_.peek().is('(')) {
        std::vector<Argument> pair;
        arguments(pair);
        if (pair.size() != 2) lexer_.fail("two arguments");
        left.push_back(std::move(pair[0]));
        right.push_back(std::move(pair[1]));
      }
      for (Argument& argument : right) left.push_back(std::move(argument));
      lexer_.expect('{');
      out.regions.push_back(region(std::move(left)));
    } else if (lexer_.peek().is("cond") && lexer_.second().is('{')) {
      for (const std::string_view word : {"cond", "do"}) {
        if (!lexer_.accept(word)) lexer_.fail(fmt::format("'{}'", word));
        lexer_.expect('{');
        std::vector<Argument> given;
        for (size_t i = 0; i < out.binders.size() && i < out.operand_types.size(); ++i)
          given.push_back({out.binders[i], out.operand_types[i], {}, out.place});
        out.regions.push_back(region(std::move(given)));
      }
    }
  }

  Module module_;
};

}  // namespace

bool Type::is_static() const {
  return std::ranges::all_of(dims, [](int64_t extent) { return extent >= 0; });
}

TensorType Type::tensor() const { return {dtype, Shape(std::span<const int64_t>(dims))}; }

const Attribute* find(const Fields& fields, std::string_view name) {
  for (const auto& [key, value] : fields) {
    if (key == name) return &value;
  }
  return nullptr;
}

bool Operation::says(std::string_view word) const { return std::ranges::find(words, word) != words.end(); }

Module parse_module(std::string_view source, std::string_view file) { return Parser(source, file).module(); }

}  // namespace hone::ir::text

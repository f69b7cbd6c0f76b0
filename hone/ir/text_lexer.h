// Tokens of the text form.
#pragma once
#include <string>
#include <string_view>

#include "hone/ir/text.h"

namespace hone::ir::text {

struct Token {
  enum class Kind : uint8_t { End, Value, Block, Symbol, Hash, Bang, Word, Number, String, Punctuation };
  Kind kind = Kind::End;
  std::string_view text;  ///< without the leading %, ^, @, #, ! and without quotes
  Place place;
  bool first = false;  ///< on its line
  size_t begin = 0, end = 0;

  bool is(char punctuation) const { return kind == Kind::Punctuation && text.size() == 1 && text[0] == punctuation; }
  bool is(std::string_view word) const { return kind == Kind::Word && text == word; }
  bool arrow() const { return kind == Kind::Punctuation && text == "->"; }
};

/// One token ahead of a source text.
class Lexer {
 public:
  Lexer(std::string_view source, std::string_view file);

  const Token& peek() const { return token_; }
  Token next();
  /// The token after the next one.
  Token second() const;
  bool accept(char punctuation);
  bool accept(std::string_view word);
  void expect(char punctuation);
  /// Goes on from a byte; for types, whose spelling has rules of its own.
  void seek(size_t offset);
  std::string_view source() const { return source_; }
  [[noreturn]] void fail(const Token& at, std::string_view expected) const;
  [[noreturn]] void fail(std::string_view expected) const { fail(token_, expected); }

 private:
  Token scan(size_t& at, size_t& line, size_t& line_start) const;
  std::string_view source_, file_;
  size_t at_ = 0, line_ = 1, line_start_ = 0;
  Token token_;
};

/// The bytes of a string literal: \n, \t, \", \\ and \XX replaced.
std::string unescape(std::string_view text);

}  // namespace hone::ir::text

#include "hone/ir/text_lexer.h"

#include <fmt/format.h>

#include <cctype>

#include "hone/base/error.h"

namespace hone::ir::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_word(char c) { return starts_word(c) || is_digit(c) || c == '.' || c == '$'; }
bool in_name(char c) { return in_word(c) || c == '-'; }

int hex_value(char c) { return is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10; }

}  // namespace

Lexer::Lexer(std::string_view source, std::string_view file) : source_(source), file_(file) {
  token_ = scan(at_, line_, line_start_);
}

Token Lexer::next() {
  const Token token = token_;
  token_ = scan(at_, line_, line_start_);
  return token;
}

Token Lexer::second() const {
  size_t at = at_, line = line_, line_start = line_start_;
  return scan(at, line, line_start);
}

bool Lexer::accept(char punctuation) {
  if (!token_.is(punctuation)) return false;
  next();
  return true;
}

bool Lexer::accept(std::string_view word) {
  if (!token_.is(word)) return false;
  next();
  return true;
}

void Lexer::expect(char punctuation) {
  if (!accept(punctuation)) fail(fmt::format("'{}'", punctuation));
}

void Lexer::seek(size_t offset) {
  // Types do not span lines, so the line stays.
  at_ = offset;
  token_ = scan(at_, line_, line_start_);
}

void Lexer::fail(const Token& at, std::string_view expected) const {
  const std::string_view got = source_.substr(at.begin, std::min<size_t>(at.end - at.begin, 40));
  throw Error(Code::kInvalidArgument,
              {.what = fmt::format("{}:{}:{}: expected {}, got {}", file_, at.place.line, at.place.column, expected,
                                   at.kind == Token::Kind::End ? "the end of the text" : fmt::format("'{}'", got)),
               .fix = "the text form is StableHLO, as jax.jit(f).lower(x).as_text() prints it"});
}

Token Lexer::scan(size_t& at, size_t& line, size_t& line_start) const {
  Token token;
  token.first = at == 0;
  while (at < source_.size()) {
    const char c = source_[at];
    if (c == '\n') {
      ++line;
      line_start = ++at;
      token.first = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
    } else if (c == '/' && at + 1 < source_.size() && source_[at + 1] == '/') {
      while (at < source_.size() && source_[at] != '\n') ++at;
    } else {
      break;
    }
  }
  token.begin = at;
  token.place = {static_cast<uint32_t>(line), static_cast<uint32_t>(at - line_start + 1)};
  if (at == source_.size()) {
    token.end = at;
    return token;
  }
  const auto take = [&](Token::Kind kind, size_t from, auto&& in) {
    while (at < source_.size() && in(source_[at])) ++at;
    token.kind = kind;
    token.text = source_.substr(from, at - from);
  };
  const char c = source_[at];
  if (c == '%' || c == '^' || c == '@' || c == '#' || c == '!') {
    ++at;
    const auto kind = c == '%'   ? Token::Kind::Value
                      : c == '^' ? Token::Kind::Block
                      : c == '@' ? Token::Kind::Symbol
                      : c == '#' ? Token::Kind::Hash
                                 : Token::Kind::Bang;
    if (c == '@' && at < source_.size() && source_[at] == '"') {
      const size_t from = ++at;
      take(kind, from, [](char d) { return d != '"' && d != '\n'; });
      at = std::min(at + 1, source_.size());
    } else {
      take(kind, at, c == '#' || c == '!' ? in_word : in_name);
    }
  } else if (c == '"') {
    const size_t from = ++at;
    while (at < source_.size() && source_[at] != '"' && source_[at] != '\n') at += source_[at] == '\\' ? 2 : 1;
    at = std::min(at, source_.size());
    token.kind = Token::Kind::String;
    token.text = source_.substr(from, at - from);
    if (at == source_.size() || source_[at] != '"') {
      token.end = at;
      fail(token, "a string that ends on its line");
    }
    ++at;
  } else if (starts_word(c)) {
    take(Token::Kind::Word, at, in_word);
  } else if (is_digit(c) || (c == '-' && at + 1 < source_.size() && is_digit(source_[at + 1]))) {
    const size_t from = at++;
    if (c == '0' && at < source_.size() && source_[at] == 'x' && at + 1 < source_.size() && is_hex(source_[at + 1])) {
      ++at;
      take(Token::Kind::Number, from, is_hex);
    } else {
      char last = c;
      take(Token::Kind::Number, from, [&](char d) {
        const bool part =
            is_digit(d) || d == '.' || d == 'e' || d == 'E' || ((d == '+' || d == '-') && (last == 'e' || last == 'E'));
        last = d;
        return part;
      });
    }
  } else {
    token.kind = Token::Kind::Punctuation;
    const size_t length = c == '-' && at + 1 < source_.size() && source_[at + 1] == '>' ? 2 : 1;
    token.text = source_.substr(at, length);
    at += length;
  }
  token.end = at;
  return token;
}

std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'n' || c == 't') {
      out += c == 'n' ? '\n' : '\t';
    } else if (is_hex(c) && i + 1 < text.size() && is_hex(text[i + 1])) {
      out += static_cast<char>(hex_value(c) * 16 + hex_value(text[++i]));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace hone::ir::text

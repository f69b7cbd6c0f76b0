// Types, attributes, elements and origins of the text form; what Parser reads operations with.
#pragma once
#include "hone/ir/text_lexer.h"

namespace hone::ir::text {

class AttributeParser {
 protected:
  AttributeParser(std::string_view source, std::string_view file) : lexer_(source, file), file_(file) {}

  struct Depth {
    explicit Depth(AttributeParser& parser);
    ~Depth() { --parser.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    AttributeParser& parser;
  };

  [[noreturn]] void unsupported(Place place, std::string_view what) const;

  Type type();
  void tensor_type(std::string_view body, Type& type, const Token& token);
  void types(std::vector<Type>& out);
  void signature(Operation& operation);
  Fields dictionary();
  Fields fields(char close);
  // An attribute's value with its type, where one follows.
  Attribute attribute();
  Attribute bare_attribute();
  Attribute word();
  Attribute number();
  // [1, 2], [[0, 1], [1, 1]], [0:2, 1:8:2]; [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f] and [1] x [0] are lists of lists.
  Attribute list();
  Attribute simple_list();
  // What stands in #stablehlo<...>: words (the last counts), key = value pairs, or a convolution's lists.
  void angle(Attribute& value);
  Attribute array();
  void scalars(std::vector<Token>& out);
  Attribute elements();
  Origin origin();
  Origin origin_body();

  Lexer lexer_;
  std::string file_;
  int depth_ = 0;
};

}  // namespace hone::ir::text

// A small checker of printed programs: comment lines say what the text must show.
#pragma once
#include <string>
#include <string_view>

namespace hone::golden {

/// Holds `text` to the directives of `script`, in their order; "" if it meets all, else the first that it does not meet
/// and the lines where it was looked for.
///   // CHECK: P        the next line that contains P
///   // CHECK-NEXT: P   the line right after the last one found contains P
///   // CHECK-NOT: P    no line between the last one found and the next contains P
/// In P, {{r}} is a regular expression, all else is meant literally. Each directive takes a line of its own. A script
/// without a directive, or with one that is not known, is not met by any text.
std::string check(std::string_view text, std::string_view script);

}  // namespace hone::golden

#include "hone/formats/npy.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "hone/base/file.h"
#include "hone/formats/bytes.h"
#include "hone/formats/zip.h"

namespace hone::formats {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint64_t kLargestHeader = uint64_t{1} << 20;

struct NpyType {
  std::string_view code;  // kind and bytes of an item
  DType dtype;
};
constexpr NpyType kTypes[] = {{"f4", f32}, {"f8", f64}, {"f2", f16},  {"V2", bf16}, {"i1", i8},
                              {"i2", i16}, {"i4", i32}, {"i8", i64},  {"u1", u8},   {"u2", u16},
                              {"u4", u32}, {"u8", u64}, {"b1", bool_}};

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<uint64_t> extents;
  uint64_t descr_at = 0, shape_at = 0;  // bytes in the file
};

/// Reads the header: a Python dictionary of a string, a bool and a tuple of integers.
class HeaderParser {
 public:
  HeaderParser(const ByteSource& source, std::string_view text, uint64_t offset)
      : source_(source), text_(text), offset_(offset) {}

  Header parse() {
    Header header;
    bool seen[3] = {};
    expect('{');
    while (!accept('}')) {
      const uint64_t at = here();
      const std::string key = string();
      expect(':');
      const int field = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (field < 0 || seen[field])
        source_.damaged(at, fmt::format("the key '{}' is {}", key, field < 0 ? "unknown" : "there twice"));
      seen[field] = true;
      value(field, header);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) source_.damaged(here(), "the header goes on after its dictionary");
    if (!seen[0] || !seen[1] || !seen[2])
      source_.damaged(offset_, "expected the keys 'descr', 'fortran_order' and 'shape'");
    return header;
  }

 private:
  uint64_t here() const { return offset_ + at_; }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (accept(c)) return;
    source_.damaged(here(), fmt::format("expected '{}' in the header, got {}", c, found()));
  }
  std::string found() const {
    if (at_ == text_.size()) return "its end";
    const auto c = static_cast<unsigned char>(text_[at_]);
    return c >= 32 && c < 127 ? fmt::format("'{}'", text_[at_]) : fmt::format("byte {:02x}", c);
  }
  std::string string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') source_.damaged(here(), "expected a string in the header, got " + found());
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) source_.damaged(here(), "a string in the header has no end");
    const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(content);
  }
  bool word(std::string_view expected) {
    skip_space();
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  uint64_t number() {
    skip_space();
    uint64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{}) source_.damaged(here(), "expected an extent in the header, got " + found());
    at_ += static_cast<size_t>(end - begin);
    accept('L');  // Python 2's long
    return value;
  }
  void value(int field, Header& header) {
    skip_space();
    if (field == 0) {
      header.descr_at = here();
      if (at_ < text_.size() && text_[at_] == '[') {
        source_.context().unsupported(here(), "the items are records of several fields",
                                      "save each field as an array of its own");
      }
      header.descr = string();
    } else if (field == 1) {
      header.fortran_order = word("True");
      if (!header.fortran_order && !word("False")) source_.damaged(here(), "expected True or False, got " + found());
    } else {
      header.shape_at = here();
      expect('(');
      while (!accept(')')) {
        header.extents.push_back(number());
        if (!accept(',')) {
          expect(')');
          break;
        }
      }
    }
  }

  const ByteSource& source_;
  std::string_view text_;
  uint64_t offset_;
  size_t at_ = 0;
};

Header read_header(ByteSource& source) {
  char magic[8];
  source.read(magic, sizeof magic, "the magic string");
  if (std::string_view(magic, 6) != kMagic) source.damaged(0, "expected 93 'NUMPY': not an NPY file");
  const int version = magic[6];
  if (version < 1 || version > 3 || magic[7] != 0) {
    source.damaged(6, fmt::format("expected version 1.0, 2.0 or 3.0, got {}.{}", version, static_cast<int>(magic[7])));
  }
  uint32_t length = 0;
  source.read(&length, version == 1 ? 2 : 4, "the length of the header");
  if (length > source.at_most() || length > kLargestHeader) {
    source.damaged(
        8, fmt::format("the header is said to have {} bytes; the file has at most {} more", length, source.at_most()));
  }
  std::string text(length, '\0');
  const uint64_t offset = source.position();
  source.read(text.data(), text.size(), "the header");
  return HeaderParser(source, text, offset).parse();
}

DType dtype_of_descr(const ByteSource& source, const Header& header, bool& big) {
  std::string_view code = header.descr;
  const char order = code.empty() ? '\0' : code.front();
  if (order == '<' || order == '>' || order == '|' || order == '=') code.remove_prefix(1);
  big = order == '>';
  const NpyType* type = std::ranges::find(kTypes, code, &NpyType::code);
  if (type != std::end(kTypes)) return type->dtype;
  const std::string shown = fmt::format("the items have the type '{}'", header.descr);
  switch (code.empty() ? '\0' : code.front()) {
    case 'O':
      source.context().unsupported(header.descr_at, shown + ": Python objects, which run code when they are read",
                                   "save numbers: numpy.save(path, array.astype('float32'), allow_pickle=False)");
    case 'c':
      source.context().unsupported(header.descr_at, shown + ": complex numbers",
                                   "save the real and the imaginary part as two arrays");
    case 'S':
    case 'U':
    case 'M':
    case 'm':
    case 'V':
    case 'f':
      source.context().unsupported(header.descr_at, shown, "save it as bool, integers, float16, float32 or float64");
    default:
      source.damaged(header.descr_at, shown + ", which NumPy does not have");
  }
}

}  // namespace

Tensor parse_npy(ByteSource& source) {
  const Header header = read_header(source);
  bool big = false;
  const DType dtype = dtype_of_descr(source, header, big);
  const Shape shape = declared_shape(source, header.extents, dtype, header.shape_at);
  Tensor out = Tensor::empty({dtype, shape});
  source.read(out.mutable_bytes(), out.bytes(), fmt::format("the elements of {}", to_string(out.type())));
  source.expect_end();
  const auto count = static_cast<size_t>(out.size());
  if (big) swap_items(out.mutable_bytes(), count, size_of(dtype));
  if (dtype == bool_) normalize_bools(out.mutable_bytes(), count);
  if (!header.fortran_order || shape.rank() < 2 || count == 0) return out;
  Ints strides;
  int64_t step = 1;
  for (const Dim d : shape) {
    strides.push_back(step);
    step *= d.number();
  }
  return out.alias({dtype, shape}, strides).dense();
}

std::string npy_header(const TensorType& type) {
  const NpyType* row = std::ranges::find(kTypes, type.dtype, &NpyType::dtype);
  std::string shape;
  for (const Dim d : type.shape) shape += fmt::format("{}, ", d.number());
  if (shape.ends_with(", ")) shape.erase(shape.size() - (type.shape.rank() == 1 ? 1 : 2));
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 size_of(type.dtype) == 1 ? '|' : '<', row->code, shape);
  constexpr size_t kAlignment = 64, kFixed = 10;
  text.append(kAlignment - 1 - (kFixed + text.size()) % kAlignment, ' ');
  text += '\n';
  const auto length = static_cast<uint16_t>(text.size());  // 12 axes of 20 digits stay far below 64 KiB
  return std::string(kMagic) + std::string{1, 0, static_cast<char>(length & 255), static_cast<char>(length >> 8)} +
         text;
}

Tensor read_npy(const std::string& path) {
  const MappedFile file(path);
  SpanSource source({"NPY", path}, file.bytes());
  return parse_npy(source);
}

void write_npy(const std::string& path, const Tensor& tensor) {
  const std::string header = npy_header(tensor.type());
  const void* const data = tensor.raw();
  write_file_atomic(path, [&](FileWriter& writer) {
    writer.write(header);
    writer.write(data, tensor.bytes());
  });
}

NamedTensors read_npz(const std::string& path) {
  const ZipReader zip(path);
  NamedTensors out;
  for (const ZipMember& member : zip.members()) {
    std::string_view name = member.name;
    if (!name.ends_with(".npy")) {
      FileContext{"NPZ", path}.unsupported(member.header_at, fmt::format("the member '{}' is not an NPY file", name),
                                           "take it out of the ZIP file");
    }
    name.remove_suffix(4);
    out.emplace_back(name, parse_npy(*zip.open(member)));
  }
  return out;
}

void write_npz(const std::string& path, const NamedTensors& tensors) {
  std::vector<std::string> headers;
  headers.reserve(tensors.size());
  std::vector<ZipContent> contents;
  for (const auto& [name, tensor] : tensors) {
    headers.push_back(npy_header(tensor.type()));
    contents.push_back(
        {name + ".npy",
         {std::as_bytes(std::span(headers.back())), {static_cast<const std::byte*>(tensor.raw()), tensor.bytes()}}});
  }
  write_zip(path, contents);
}

}  // namespace hone::formats

#include "hone/formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_set>

#include "hone/base/file.h"
#include "hone/formats/bytes.h"

namespace hone::formats {
namespace {

constexpr uint64_t kPrefix = 8, kLargestHeader = 100'000'000;
constexpr std::string_view kMetadata = "__metadata__";

struct Type {
  std::string_view name;
  DType dtype;
};
constexpr Type kTypes[] = {{"F32", f32}, {"F64", f64}, {"F16", f16},   {"BF16", bf16}, {"I8", i8},
                           {"I16", i16}, {"I32", i32}, {"I64", i64},   {"U8", u8},     {"U16", u16},
                           {"U32", u32}, {"U64", u64}, {"BOOL", bool_}};

struct Entry {
  std::string name, dtype;
  std::vector<uint64_t> shape, offsets;
};

/// Takes the header's JSON as a stream of events, so that a header of any content costs no more than its own size.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const FileContext& context) : context_(context) {}
  std::vector<Entry> entries;
  Metadata metadata;

  bool start_object(size_t) override {
    if (state_ == State::kStart) return enter(State::kTop);
    if (state_ != State::kValue) wrong("an object");
    if (key_ == kMetadata) return enter(State::kMetadata);
    entries.emplace_back();
    entries.back().name = key_;
    field_ = Field::kNone;
    seen_ = 0;
    return enter(State::kEntry);
  }
  bool key(string_t& text) override {
    if (state_ == State::kTop) {
      if (!names_.insert(text).second) damaged(fmt::format("the name '{}' is there twice", text));
      key_ = text;
      return enter(State::kValue);
    }
    if (state_ == State::kMetadata) {
      if (!metadata_keys_.insert(text).second) damaged(fmt::format("the metadata key '{}' is there twice", text));
      metadata.emplace_back(text, "");
      return enter(State::kMetadataValue);
    }
    field_ = text == "dtype"          ? Field::kDType
             : text == "shape"        ? Field::kShape
             : text == "data_offsets" ? Field::kOffsets
                                      : Field::kNone;
    const int bit = 1 << static_cast<int>(field_);
    if (field_ == Field::kNone || (seen_ & bit)) {
      damaged(
          fmt::format("'{}': the field '{}' is {}", key_, text, field_ == Field::kNone ? "unknown" : "there twice"));
    }
    seen_ |= bit;
    return true;
  }
  bool end_object() override {
    if (state_ == State::kEntry && seen_ != kAllFields)
      damaged(fmt::format("'{}': expected dtype, shape and data_offsets", key_));
    return enter(state_ == State::kTop ? State::kEnd : State::kTop);
  }
  bool string(string_t& text) override {
    if (state_ == State::kMetadataValue) {
      metadata.back().second = text;
      return enter(State::kMetadata);
    }
    if (state_ != State::kEntry || field_ != Field::kDType || array_) wrong("a string");
    entries.back().dtype = text;
    field_ = Field::kNone;
    return true;
  }
  bool start_array(size_t) override {
    if (state_ != State::kEntry || (field_ != Field::kShape && field_ != Field::kOffsets) || array_) wrong("an array");
    return array_ = true;
  }
  bool end_array() override {
    array_ = false;
    field_ = Field::kNone;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!array_) wrong("a number");
    (field_ == Field::kShape ? entries.back().shape : entries.back().offsets).push_back(value);
    return true;
  }
  bool number_integer(number_integer_t) override { wrong("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { wrong("a fractional number"); }
  bool boolean(bool) override { wrong("true or false"); }
  bool null() override { wrong("null"); }
  bool binary(binary_t&) override { wrong("binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    context_.damaged(kPrefix + position, std::string("the header is not valid JSON: ") + e.what());
  }

 private:
  enum class State : uint8_t { kStart, kTop, kValue, kEntry, kMetadata, kMetadataValue, kEnd };
  enum class Field : uint8_t { kDType, kShape, kOffsets, kNone };
  static constexpr int kAllFields = 7;

  bool enter(State state) {
    state_ = state;
    return true;
  }
  [[noreturn]] void damaged(const std::string& detail) const { context_.damaged(kPrefix, detail); }
  [[noreturn]] void wrong(std::string_view got) const {
    damaged(fmt::format("'{}': {} stands where the format has none", key_, got));
  }

  const FileContext& context_;
  State state_ = State::kStart;
  Field field_ = Field::kNone;
  bool array_ = false;
  int seen_ = 0;
  std::string key_;
  std::unordered_set<std::string> names_, metadata_keys_;
};

std::string_view header_text(std::span<const std::byte> bytes, const FileContext& context) {
  if (bytes.size() < kPrefix)
    context.damaged(bytes.size(), "the file ends within the length of the header; expected 8 bytes");
  const auto length = load_little<uint64_t>(bytes.data());
  if (length > kLargestHeader || length > bytes.size() - kPrefix) {
    context.damaged(0, fmt::format("the header is said to have {} bytes; expected at most {}", length,
                                   std::min<uint64_t>(kLargestHeader, bytes.size() - kPrefix)));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kPrefix, length);
  if (!text.starts_with('{')) context.damaged(kPrefix, "expected the header to begin with '{'");
  return text;
}

DType dtype_of_entry(const Entry& entry, const FileContext& context) {
  const Type* type = std::ranges::find(kTypes, entry.dtype, &Type::name);
  if (type == std::end(kTypes)) {
    context.unsupported(kPrefix, fmt::format("'{}' has the type '{}'", entry.name, entry.dtype),
                        "write it as F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8 or BOOL");
  }
  return type->dtype;
}

/// The places of all arrays: within the data, one after another without holes.
void check_places(const std::vector<Entry>& entries, const FileContext& context, uint64_t data_at,
                  uint64_t data_bytes) {
  std::vector<const Entry*> sorted;
  for (const Entry& entry : entries) {
    if (entry.offsets.size() != 2)
      context.damaged(kPrefix,
                      fmt::format("'{}': expected two data_offsets, got {}", entry.name, entry.offsets.size()));
    const std::optional<uint64_t> bytes = byte_count(entry.shape, size_of(dtype_of_entry(entry, context)));
    const uint64_t begin = entry.offsets[0], end = entry.offsets[1];
    if (end < begin || end > data_bytes || bytes != end - begin) {
      context.damaged(kPrefix,
                      fmt::format("'{}': {}[{}] does not fit data_offsets [{}, {}] of {} bytes of data", entry.name,
                                  entry.dtype, fmt::join(entry.shape, ","), begin, end, data_bytes));
    }
    sorted.push_back(&entry);
  }
  std::ranges::sort(sorted, {}, &Entry::offsets);
  uint64_t at = 0;
  for (const Entry* entry : sorted) {
    if (entry->offsets[0] != at) {
      context.damaged(data_at + at, fmt::format("'{}' begins at byte {} of the data, expected {}: a hole or an overlap",
                                                entry->name, entry->offsets[0], at));
    }
    at = entry->offsets[1];
  }
  if (at != data_bytes) context.damaged(data_at + at, fmt::format("{} bytes follow the last array", data_bytes - at));
}

Tensor make_tensor(const Entry& entry, std::span<const std::byte> data, const std::shared_ptr<const void>& owner,
                   const FileContext& context) {
  if (entry.shape.size() > kMaxRank) {
    context.unsupported(
        kPrefix, fmt::format("'{}' has {} axes; at most {} are supported", entry.name, entry.shape.size(), kMaxRank),
        "join axes before the array is written");
  }
  Shape shape;
  for (const uint64_t extent : entry.shape) shape.push_back(static_cast<int64_t>(extent));
  const DType dtype = dtype_of_entry(entry, context);
  const std::span<const std::byte> bytes = data.subspan(entry.offsets[0], entry.offsets[1] - entry.offsets[0]);
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % size_of(dtype) == 0;
  const bool valid = dtype != bool_ || std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; });
  if (aligned && valid && !bytes.empty()) return Tensor::borrow(bytes.data(), shape, dtype, {.deleter = [owner] {}});
  Tensor out = Tensor::empty({dtype, shape});
  if (!bytes.empty()) std::memcpy(out.mutable_bytes(), bytes.data(), bytes.size());
  if (dtype == bool_) normalize_bools(out.mutable_bytes(), bytes.size());
  return out;
}

std::string quoted(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw Error(Code::kInvalidArgument, "a safetensors file holds names and metadata in UTF-8; got other bytes",
                "convert the text to UTF-8");
  }
}

void check_names(const NamedTensors& tensors, const Metadata& metadata) {
  std::unordered_set<std::string_view> names{kMetadata};
  for (const auto& [name, tensor] : tensors) {
    if (!names.insert(name).second)
      throw Error(Code::kInvalidArgument, fmt::format("two arrays of a safetensors file are named '{}'", name),
                  "give each its own name");
  }
  names.clear();
  for (const auto& [key, value] : metadata) {
    if (!names.insert(key).second)
      throw Error(Code::kInvalidArgument, fmt::format("two metadata keys of a safetensors file are '{}'", key),
                  "keep one of them");
  }
}

}  // namespace

SafeTensors parse_safetensors(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                              const std::string& name) {
  const FileContext context{"safetensors", name};
  const std::string_view header = header_text(bytes, context);
  HeaderReader reader(context);
  nlohmann::json::sax_parse(header, &reader);
  const std::span<const std::byte> data = bytes.subspan(kPrefix + header.size());
  check_places(reader.entries, context, kPrefix + header.size(), data.size());
  SafeTensors out;
  for (const Entry& entry : reader.entries)
    out.tensors.emplace_back(entry.name, make_tensor(entry, data, owner, context));
  out.metadata = std::move(reader.metadata);
  return out;
}

SafeTensors read_safetensors(const std::string& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  return parse_safetensors(file->bytes(), file, path);
}

SafeTensorsPieces safetensors_pieces(const NamedTensors& tensors, const Metadata& metadata) {
  check_names(tensors, metadata);
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {},
                    [&](size_t i) { return std::pair(-static_cast<int>(size_of(tensors[i].second.dtype())), i); });
  SafeTensorsPieces pieces;
  std::vector<uint64_t> begins(tensors.size());
  uint64_t at = 0;
  for (const size_t i : order) {
    const Tensor& tensor = tensors[i].second;
    begins[i] = at;
    at += tensor.bytes();
    pieces.data.emplace_back(static_cast<const std::byte*>(tensor.raw()), tensor.bytes());
  }
  std::string text = "{";
  const auto next = [&text] { text += text.size() > 1 ? "," : ""; };
  if (!metadata.empty()) {
    text += fmt::format("\"{}\":", kMetadata);
    for (size_t i = 0; i < metadata.size(); ++i) {
      text += fmt::format("{}{}:{}", i ? "," : "{", quoted(metadata[i].first), quoted(metadata[i].second));
    }
    text += "}";
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, tensor] = tensors[i];
    next();
    text += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", quoted(name),
                        std::ranges::find(kTypes, tensor.dtype(), &Type::dtype)->name,
                        fmt::join(tensor.shape().numbers(), ","), begins[i], begins[i] + tensor.bytes());
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  pieces.header.assign(reinterpret_cast<const char*>(&length), sizeof length);
  pieces.header += text;
  return pieces;
}

void write_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata) {
  const SafeTensorsPieces pieces = safetensors_pieces(tensors, metadata);
  write_file_atomic(path, [&](FileWriter& writer) {
    writer.write(pieces.header);
    for (const std::span<const std::byte> piece : pieces.data) writer.write(piece.data(), piece.size());
  });
}

}  // namespace hone::formats

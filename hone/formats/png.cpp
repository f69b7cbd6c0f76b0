#include "hone/formats/png.h"

#include <fmt/format.h>
#include <spng.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "hone/base/file.h"
#include "hone/formats/inflate.h"

namespace hone::formats {
namespace {

constexpr uint32_t kLargestSide = 65535;
constexpr size_t kLargestChunk = size_t{1} << 24;  // of chunks beside the pixels: text, profiles

constexpr unsigned char kEnd[] = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82};

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

Context make_context(int flags) {
  Context context(spng_ctx_new(flags));
  if (!context) throw Error(Code::kResourceExhausted, "out of memory for libspng's state", "free memory");
  return context;
}

constexpr unsigned char kSignature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

/// Hands a file to libspng and knows how far it has come.
class Input {
 public:
  Input(const FileContext& file, std::span<const std::byte> bytes) : file_(file), bytes_(bytes) {}
  static int read(spng_ctx*, void* user, void* to, size_t size) {
    auto* input = static_cast<Input*>(user);
    if (size > input->bytes_.size() - input->at_) return SPNG_IO_EOF;
    if (size != 0) std::memcpy(to, input->bytes_.data() + input->at_, size);
    input->at_ += size;
    return 0;
  }
  void check(int status) const {
    if (status == SPNG_OK) return;
    if (status == SPNG_EMEM)
      throw Error(Code::kResourceExhausted, "out of memory while reading " + file_.path, "free memory");
    if (status == SPNG_EUSER_WIDTH || status == SPNG_EUSER_HEIGHT) {
      throw Error(Code::kResourceExhausted,
                  {.what = fmt::format("a PNG image has more than {} rows or columns", kLargestSide),
                   .details = {"file: " + file_.path},
                   .fix = "make the image smaller"});
    }
    if (!bytes_.empty() && std::memcmp(bytes_.data(), kSignature, std::min(sizeof kSignature, bytes_.size())) != 0)
      file_.damaged(0, "the first bytes are not those of a PNG image");
    file_.damaged(at_, fmt::format("{} (found at or before this byte)", spng_strerror(status)));
  }
  uint64_t left() const { return bytes_.size() - at_; }
  uint64_t position() const { return at_; }
  const FileContext& file() const { return file_; }

 private:
  const FileContext& file_;
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

struct Pixels {
  int format;    // as libspng names it
  int channels;  // of its output
  bool wide;     // 16 bits a sample
  bool keyed;    // a transparent colour that is still to become alpha
};

Pixels plan(const spng_ihdr& header, bool transparent) {
  const bool wide = header.bit_depth == 16;
  switch (header.color_type) {
    case SPNG_COLOR_TYPE_GRAYSCALE:
      if (wide) return {SPNG_FMT_PNG, 1, true, transparent};
      return transparent ? Pixels{SPNG_FMT_GA8, 2, false, false} : Pixels{SPNG_FMT_G8, 1, false, false};
    case SPNG_COLOR_TYPE_TRUECOLOR:
      if (wide) return {SPNG_FMT_PNG, 3, true, transparent};
      [[fallthrough]];
    case SPNG_COLOR_TYPE_INDEXED:
      return transparent ? Pixels{SPNG_FMT_RGBA8, 4, false, false} : Pixels{SPNG_FMT_RGB8, 3, false, false};
    case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA:
      return {SPNG_FMT_PNG, 2, wide, false};
    default:
      return {SPNG_FMT_PNG, 4, wide, false};
  }
}

void check_size(const Input& input, const spng_ihdr& header) {
  constexpr uint64_t kChannels[] = {1, 0, 3, 1, 2, 0, 4};
  const uint64_t bits = uint64_t{header.width} * kChannels[header.color_type] * header.bit_depth;
  const uint64_t bytes = header.height * ((bits + 7) / 8 + 1);
  if (bytes / kMaxExpansion > input.left()) {
    input.file().damaged(
        16, fmt::format("the header declares {} x {} pixels, but the {} bytes that follow cannot hold them",
                        header.width, header.height, input.left()));
  }
}

/// 16-bit samples to 8 bits, with alpha 0 where all samples are the transparent colour.
void narrow(const std::vector<uint16_t>& samples, const Pixels& pixels, const spng_trns& key, uint8_t* out) {
  const auto channels = static_cast<size_t>(pixels.channels);
  const uint16_t colour[] = {pixels.channels == 1 ? key.gray : key.red, key.green, key.blue};
  for (size_t i = 0; i < samples.size(); i += channels) {
    for (size_t c = 0; c < channels; ++c) *out++ = static_cast<uint8_t>(samples[i + c] >> 8);
    if (pixels.keyed) *out++ = std::equal(&samples[i], &samples[i] + channels, colour) ? 0 : 255;
  }
}

}  // namespace

Tensor read_png(const std::string& path) {
  const MappedFile mapped(path);
  const FileContext file{"PNG", path};
  Input input(file, mapped.bytes());
  const Context context = make_context(0);
  input.check(spng_set_crc_action(context.get(), SPNG_CRC_ERROR, SPNG_CRC_ERROR));
  input.check(spng_set_image_limits(context.get(), kLargestSide, kLargestSide));
  input.check(spng_set_chunk_limits(context.get(), kLargestChunk, 4 * kLargestChunk));
  input.check(spng_set_png_stream(context.get(), Input::read, &input));
  spng_ihdr header{};
  input.check(spng_get_ihdr(context.get(), &header));
  check_size(input, header);
  spng_trns key{};
  const int has_key = spng_get_trns(context.get(), &key);
  if (has_key != SPNG_ECHUNKAVAIL) input.check(has_key);

  const Pixels pixels = plan(header, has_key == SPNG_OK);
  size_t bytes = 0;
  input.check(spng_decoded_image_size(context.get(), pixels.format, &bytes));
  const auto height = static_cast<int64_t>(header.height), width = static_cast<int64_t>(header.width);
  Tensor out = Tensor::empty({u8, {height, width, pixels.channels + pixels.keyed}});
  std::vector<uint16_t> samples(pixels.wide ? bytes / 2 : 0);
  void* const to = pixels.wide ? static_cast<void*>(samples.data()) : out.mutable_bytes();
  if (bytes != (pixels.wide ? 2 : 1) * static_cast<size_t>(height * width) * static_cast<size_t>(pixels.channels)) {
    throw Error(Code::kInternal, "libspng gives " + path + " an unexpected size");
  }
  input.check(spng_decode_image(context.get(), to, bytes, pixels.format, SPNG_DECODE_TRNS));
  input.check(spng_decode_chunks(context.get()));
  // libspng takes the last chunk for read before it has seen all of it.
  const std::byte* const end = mapped.data() + mapped.size();
  if (input.left() != 0 || std::memcmp(end - sizeof kEnd, kEnd, sizeof kEnd) != 0) {
    file.damaged(input.position(), "expected the file to end with one whole IEND chunk");
  }
  if (pixels.wide) narrow(samples, pixels, key, reinterpret_cast<uint8_t*>(out.mutable_bytes()));
  return out;
}

void write_png(const std::string& path, const Tensor& image) {
  const int64_t channels = image.rank() == 3 ? image.dim(2) : 1;
  if (image.dtype() != u8 || image.rank() < 2 || image.rank() > 3 || channels < 1 || channels > 4 ||
      image.size() == 0 || image.dim(0) > kLargestSide || image.dim(1) > kLargestSide) {
    throw Error(Code::kInvalidArgument,
                {.what = "a PNG image cannot hold " + to_string(image.type()),
                 .details = {"expected: u8[height, width] or u8[height, width, 1 to 4], sides of 1 to 65535"},
                 .fix = "for values in [0, 1]: cast(image * 255 + 0.5, u8)"});
  }
  constexpr uint8_t kColours[] = {SPNG_COLOR_TYPE_GRAYSCALE, SPNG_COLOR_TYPE_GRAYSCALE_ALPHA, SPNG_COLOR_TYPE_TRUECOLOR,
                                  SPNG_COLOR_TYPE_TRUECOLOR_ALPHA};
  const Context context = make_context(SPNG_CTX_ENCODER);
  const auto check = [&](int status) {
    if (status != SPNG_OK)
      throw Error(Code::kInternal, fmt::format("cannot write {}: {}", path, spng_strerror(status)));
  };
  spng_ihdr header{.width = static_cast<uint32_t>(image.dim(1)),
                   .height = static_cast<uint32_t>(image.dim(0)),
                   .bit_depth = 8,
                   .color_type = kColours[channels - 1],
                   .compression_method = 0,
                   .filter_method = 0,
                   .interlace_method = 0};
  check(spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1));
  check(spng_set_ihdr(context.get(), &header));
  check(spng_encode_image(context.get(), image.raw(), image.bytes(), SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE));
  size_t size = 0;
  int status = SPNG_OK;
  const std::unique_ptr<void, decltype(&std::free)> content(spng_get_png_buffer(context.get(), &size, &status),
                                                            &std::free);
  check(status);
  write_file_atomic(path, std::string_view(static_cast<const char*>(content.get()), size));
}

}  // namespace hone::formats

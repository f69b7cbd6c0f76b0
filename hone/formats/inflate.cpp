#include "hone/formats/inflate.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

namespace hone::formats {
namespace {

constexpr int kGzipBits = 16 + MAX_WBITS;
constexpr size_t kLargestRequest = std::numeric_limits<uInt>::max();

uInt request(size_t size) { return static_cast<uInt>(std::min(size, kLargestRequest)); }

void check_start(int status) {
  if (status == Z_MEM_ERROR) throw Error(Code::kResourceExhausted, "out of memory for zlib's state", "free memory");
  if (status != Z_OK) throw Error(Code::kInternal, fmt::format("zlib does not start (status {})", status));
}

}  // namespace

struct InflateSource::State {
  z_stream stream{};
  std::span<const std::byte> input;  // what zlib has not been given yet
  Wrapping wrapping;
  bool ended = false;
  uint64_t left() const { return input.size() + stream.avail_in; }
};

InflateSource::InflateSource(FileContext context, std::span<const std::byte> compressed, Wrapping wrapping)
    : ByteSource(std::move(context)), state_(std::make_unique<State>()) {
  state_->input = compressed;
  state_->wrapping = wrapping;
  check_start(inflateInit2(&state_->stream, wrapping == Wrapping::kGzip ? kGzipBits : -MAX_WBITS));
}

InflateSource::~InflateSource() { inflateEnd(&state_->stream); }

uint64_t InflateSource::at_most() const {
  constexpr uint64_t kHeldBack = uint64_t{1} << 16;  // in zlib's window
  return state_->ended && state_->left() == 0 ? 0 : state_->left() * kMaxExpansion + kHeldBack;
}

void InflateSource::next_member() {
  State& s = *state_;
  const std::span rest(reinterpret_cast<const std::byte*>(s.stream.next_in), s.stream.avail_in + s.input.size());
  if (rest.empty()) {
    s.ended = true;
    return;
  }
  if (s.wrapping == Wrapping::kRaw || !is_gzip(rest)) {
    damaged(position(), fmt::format("{} bytes follow the end of the compressed data", rest.size()));
  }
  inflateReset(&s.stream);
}

size_t InflateSource::read_some(void* to, size_t size) {
  State& s = *state_;
  size_t done = 0;
  while (done < size && !s.ended) {
    if (s.stream.avail_in == 0) {
      s.stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(s.input.data()));
      s.stream.avail_in = request(s.input.size());
      s.input = s.input.subspan(s.stream.avail_in);
    }
    const uInt room = request(size - done), fed = s.stream.avail_in;
    s.stream.next_out = static_cast<Bytef*>(to) + done;
    s.stream.avail_out = room;
    const int status = inflate(&s.stream, Z_NO_FLUSH);
    done += room - s.stream.avail_out;
    if (status == Z_STREAM_END) {
      next_member();
    } else if (status == Z_MEM_ERROR) {
      throw Error(Code::kResourceExhausted, "out of memory while decompressing " + context().path, "free memory");
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      damaged(position() + done,
              fmt::format("the compressed data are damaged: {}", s.stream.msg ? s.stream.msg : "unreadable"));
    } else if (fed == s.stream.avail_in && s.stream.avail_out == room) {
      return done;  // no progress: the input ends early, which the caller reports
    }
  }
  return done;
}

void InflateSource::check_end() {
  if (!state_->ended) damaged(position(), "the compressed data end early: their checksum is missing");
}

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

std::string gzip(std::span<const std::byte> bytes) {
  z_stream stream{};
  check_start(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipBits, 8, Z_DEFAULT_STRATEGY));
  std::string out;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
      stream.avail_in = request(bytes.size());
      bytes = bytes.subspan(stream.avail_in);
    }
    Bytef chunk[16384];
    stream.next_out = chunk;
    stream.avail_out = sizeof chunk;
    status = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.append(reinterpret_cast<const char*>(chunk), sizeof chunk - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

}  // namespace hone::formats

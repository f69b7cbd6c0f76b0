// shuffle: draws each element from the next `buffer_size` ones.
#include <fmt/format.h>

#include <random>

#include "hone/base/error.h"
#include "hone/base/hash.h"
#include "hone/base/philox.h"
#include "hone/data/dataset.h"

namespace hone::data {
namespace {

/// Uniform numbers below a bound, the same on every machine.
class Draws {
 public:
  explicit Draws(uint64_t key) : philox_(key) {}
  int64_t below(int64_t bound) {
    if (drawn_ % 2 == 0) block_ = philox_.at(drawn_ / 2);
    const size_t half = 2 * (drawn_++ % 2);
    const uint64_t word = uint64_t{block_[half + 1]} << 32 | block_[half];
    return static_cast<int64_t>(static_cast<unsigned __int128>(word) * static_cast<uint64_t>(bound) >> 64);
  }

 private:
  Philox philox_;
  Philox::Block block_{};
  uint64_t drawn_ = 0;
};

/// The order of a shuffle over a known number of elements: the buffer holds indices instead of elements.
class Order {
 public:
  Order(uint64_t key, int64_t size, int64_t buffer) : draws_(key), next_(std::min(size, buffer)), size_(size) {
    slots_.resize(static_cast<size_t>(next_));
    for (int64_t i = 0; i < next_; ++i) slots_[static_cast<size_t>(i)] = i;
  }
  bool next(int64_t& index) {
    if (slots_.empty()) return false;
    int64_t& slot = slots_[static_cast<size_t>(draws_.below(static_cast<int64_t>(slots_.size())))];
    index = slot;
    if (next_ < size_) {
      slot = next_++;
    } else {
      slot = slots_.back();
      slots_.pop_back();
    }
    return true;
  }

 private:
  Draws draws_;
  std::vector<int64_t> slots_;
  int64_t next_, size_;
};

class IndexShuffled final : public Stream {
 public:
  IndexShuffled(std::unique_ptr<Reader> reader, Order order) : reader_(std::move(reader)), order_(std::move(order)) {}
  bool next(Element& out) override {
    int64_t index = 0;
    if (!order_.next(index)) return false;
    reader_->read(index, out);
    return true;
  }
  int64_t next_batch(int64_t count, Element& out) override {
    indices_.clear();
    for (int64_t index = 0; static_cast<int64_t>(indices_.size()) < count && order_.next(index);)
      indices_.push_back(index);
    if (!indices_.empty()) reader_->gather(indices_, out);
    return static_cast<int64_t>(indices_.size());
  }
  int64_t skip(int64_t count) override {
    int64_t done = 0;
    for (int64_t index = 0; done < count && order_.next(index);) ++done;
    return done;
  }

 private:
  std::unique_ptr<Reader> reader_;
  Order order_;
  std::vector<int64_t> indices_;
};

/// The same draws over a buffer of elements. The slot that an element left is filled when the next one is asked for, so
/// that an error of the input loses nothing of the buffer.
class BufferShuffled final : public Stream {
 public:
  BufferShuffled(std::unique_ptr<Stream> inner, uint64_t key, int64_t buffer)
      : inner_(std::move(inner)), draws_(key), buffer_(buffer) {}
  bool next(Element& out) override {
    Element element;
    while (static_cast<int64_t>(slots_.size()) < buffer_ && take(element)) slots_.push_back(std::move(element));
    if (free_) {
      const bool more = take(element);
      *free_ = more ? std::move(element) : std::move(slots_.back());
      if (!more) slots_.pop_back();
      free_ = nullptr;
    }
    if (slots_.empty()) return false;
    free_ = &slots_[static_cast<size_t>(draws_.below(static_cast<int64_t>(slots_.size())))];
    out = std::move(*free_);
    return true;
  }

 private:
  bool take(Element& element) { return more_ && (more_ = inner_->next(element)); }
  std::unique_ptr<Stream> inner_;
  Draws draws_;
  int64_t buffer_;
  bool more_ = true;
  std::vector<Element> slots_;  // does not grow once an element has left it
  Element* free_ = nullptr;
};

class Shuffle final : public Node {
 public:
  Shuffle(NodePtr input, int64_t buffer, const ShuffleOptions& options)
      : Node({std::move(input)}),
        buffer_(buffer),
        seed_(options.seed ? static_cast<uint64_t>(*options.seed) : random_seed()),
        reshuffle_(options.reshuffle_each_iteration) {}
  int64_t size() const override { return input().size(); }
  bool reshuffles() const override { return reshuffle_ || input().reshuffles(); }
  std::unique_ptr<Stream> stream(const Pass& pass) const override {
    const uint64_t key = hash_combine(seed_, reshuffle_ ? pass.number : 0);
    auto reader = input().reader(pass);
    if (reader) return std::make_unique<IndexShuffled>(std::move(reader), Order(key, input().size(), buffer_));
    return std::make_unique<BufferShuffled>(input().stream(pass), key, buffer_);
  }

 private:
  static uint64_t random_seed() {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }
  int64_t buffer_;
  uint64_t seed_;
  bool reshuffle_;
};

}  // namespace

NodePtr detail::make_shuffle(NodePtr input, int64_t buffer_size, const ShuffleOptions& options) {
  const int64_t size = input->size();
  if (buffer_size == kUnknown && size != kInfinite) buffer_size = INT64_MAX;
  if (buffer_size < 1 && !(buffer_size == 0 && size == 0)) {
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("shuffle: buffer_size = {}", buffer_size),
                 .details = {"expected: at least 1"},
                 .fix = size == kInfinite ? "endless data need a buffer of a chosen size; or shuffle before repeat"
                                          : "pass the size() of the dataset for a full permutation"});
  }
  return std::make_shared<Shuffle>(std::move(input), std::max<int64_t>(buffer_size, 1), options);
}

}  // namespace hone::data

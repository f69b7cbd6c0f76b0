#include "hone/data/node.h"

#include <numeric>

#include "hone/base/error.h"
#include "hone/base/hash.h"

namespace hone::data {

Stream::~Stream() = default;
Reader::~Reader() = default;
Node::~Node() = default;

int64_t Stream::next_batch(int64_t count, Element& out) {
  std::vector<Element> rows;
  rows.reserve(static_cast<size_t>(std::min<int64_t>(count, 4096)));
  while (static_cast<int64_t>(rows.size()) < count) {
    Element row;
    if (!next(row)) break;
    rows.push_back(std::move(row));
  }
  if (!rows.empty()) out = collate(rows);
  return static_cast<int64_t>(rows.size());
}

int64_t Stream::skip(int64_t count) {
  int64_t done = 0;
  for (Element element; done < count && next(element);) ++done;
  return done;
}

void Reader::gather(std::span<const int64_t> indices, Element& out) {
  std::vector<Element> rows(indices.size());
  for (size_t i = 0; i < rows.size(); ++i) read(indices[i], rows[i]);
  out = collate(rows);
}

std::unique_ptr<Reader> Node::reader(const Pass&) const { return nullptr; }
ElementSpec Node::spec() const { return input().spec(); }
bool Node::in_memory() const { return false; }
bool Node::reshuffles() const {
  return std::ranges::any_of(inputs_, [](const NodePtr& input) { return input->reshuffles(); });
}

namespace {

class InOrder final : public Stream {
 public:
  InOrder(std::unique_ptr<Reader> reader, int64_t begin, int64_t end)
      : reader_(std::move(reader)), at_(begin), end_(end) {}
  bool next(Element& out) override {
    if (at_ >= end_) return false;
    reader_->read(at_++, out);
    return true;
  }
  int64_t next_batch(int64_t count, Element& out) override {
    count = std::min(count, end_ - at_);
    if (count <= 0) return 0;
    indices_.resize(static_cast<size_t>(count));
    std::iota(indices_.begin(), indices_.end(), at_);
    at_ += count;
    reader_->gather(indices_, out);
    return count;
  }
  int64_t skip(int64_t count) override {
    const int64_t done = std::min(count, end_ - at_);
    at_ += done;
    return done;
  }

 private:
  std::unique_ptr<Reader> reader_;
  int64_t at_, end_;
  std::vector<int64_t> indices_;
};

}  // namespace

std::unique_ptr<Stream> in_order(std::unique_ptr<Reader> reader, int64_t begin, int64_t end) {
  return std::make_unique<InOrder>(std::move(reader), begin, std::max(begin, end));
}

ElementSpec first_spec(const Node& node) {
  Element first;
  if (!node.stream({})->next(first)) {
    throw Error(Code::kFailedPrecondition, "an empty dataset whose elements are computed has no element_spec",
                "give it at least one element, or ask the dataset before its map");
  }
  ElementSpec spec;
  for (const Value& value : first) spec.push_back(value.spec());
  return spec;
}

Pass inner_pass(const Pass& pass, int64_t count, uint64_t index) {
  if (count >= 0) return {pass.number * static_cast<uint64_t>(count) + index};
  return {pass.number == 0 ? index : hash_combine(pass.number, index)};
}

}  // namespace hone::data

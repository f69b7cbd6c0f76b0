// cache: elements stay in memory once they have been read.
#include <mutex>

#include "hone/base/log.h"
#include "hone/data/dataset.h"

namespace hone::data {
namespace {

/// Elements that can be had by index: each is kept when it is first read, in whatever order.
class IndexedStore {
 public:
  void read(int64_t index, int64_t size, Reader& inner, Element& out) {
    const auto at = static_cast<size_t>(index);
    {
      const std::lock_guard lock(mutex_);
      elements_.resize(static_cast<size_t>(size));
      if (!elements_[at].empty()) {
        out = elements_[at];
        return;
      }
    }
    inner.read(index, out);  // without the lock: this is the user's code
    const std::lock_guard lock(mutex_);
    if (elements_[at].empty()) elements_[at] = out;
  }

 private:
  std::mutex mutex_;
  std::vector<Element> elements_;
};

/// Elements that come in order: all passes share one stream of the input, which the one furthest ahead reads on.
class OrderedStore {
 public:
  /// False if there are no `index` + 1 elements.
  bool read(size_t index, const Node& input, const Pass& pass, Element& out) {
    const std::lock_guard lock(mutex_);
    while (elements_.size() <= index && !complete_) advance(input, pass);
    if (index >= elements_.size()) return false;
    out = elements_[index];
    return true;
  }
  bool complete(size_t& size) const {
    const std::lock_guard lock(mutex_);
    size = elements_.size();
    return complete_;
  }

 private:
  void advance(const Node& input, const Pass& pass) {
    if (!stream_) stream_ = input.stream(pass);
    Element element;
    complete_ = !stream_->next(element);
    if (complete_)
      stream_.reset();
    else
      elements_.push_back(std::move(element));
  }
  mutable std::mutex mutex_;
  std::vector<Element> elements_;
  std::unique_ptr<Stream> stream_;
  bool complete_ = false;
};

class IndexedCache final : public IndexedNode {
 public:
  explicit IndexedCache(NodePtr input) : IndexedNode({std::move(input)}) {}
  int64_t size() const override { return input().size(); }
  std::unique_ptr<Reader> reader(const Pass& pass) const override {
    return std::make_unique<Cached>(*this, input().reader(pass));
  }

 private:
  struct Cached final : Reader {
    Cached(const IndexedCache& node, std::unique_ptr<Reader> inner)
        : node(node), size(node.size()), inner(std::move(inner)) {}
    void read(int64_t index, Element& out) override { node.store_.read(index, size, *inner, out); }
    const IndexedCache& node;
    int64_t size;
    std::unique_ptr<Reader> inner;
  };
  mutable IndexedStore store_;
};

class OrderedCache final : public Node {
 public:
  explicit OrderedCache(NodePtr input) : Node({std::move(input)}) {}
  int64_t size() const override {
    size_t known = 0;
    return store_.complete(known) ? static_cast<int64_t>(known) : input().size();
  }
  std::unique_ptr<Stream> stream(const Pass& pass) const override { return std::make_unique<Replay>(*this, pass); }
  std::unique_ptr<Reader> reader(const Pass& pass) const override {
    size_t known = 0;
    return store_.complete(known) ? std::make_unique<Kept>(*this, pass) : nullptr;
  }

 private:
  struct Replay final : Stream {
    Replay(const OrderedCache& node, const Pass& pass) : node(node), pass(pass) {}
    bool next(Element& out) override {
      if (!node.store_.read(at, node.input(), pass, out)) return false;
      ++at;
      return true;
    }
    const OrderedCache& node;
    const Pass pass;
    size_t at = 0;
  };
  struct Kept final : Reader {
    Kept(const OrderedCache& node, const Pass& pass) : node(node), pass(pass) {}
    void read(int64_t index, Element& out) override {
      node.store_.read(static_cast<size_t>(index), node.input(), pass, out);
    }
    const OrderedCache& node;
    const Pass pass;
  };
  mutable OrderedStore store_;
};

}  // namespace

NodePtr detail::make_cache(NodePtr input) {
  if (input->reshuffles()) {
    logging::warning(
        "cache after shuffle keeps the order of the first pass for all passes; shuffle after cache instead");
  }
  if (input->in_memory()) return input;
  if (input->reader({})) return std::make_shared<IndexedCache>(std::move(input));
  return std::make_shared<OrderedCache>(std::move(input));
}

}  // namespace hone::data

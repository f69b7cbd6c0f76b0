// The engine behind a Dataset: nodes describe a pipeline, streams and readers run it. Not for users.
//
// A node is immutable and shared. stream() starts one pass; a node whose elements can be had by index also has
// reader(). Passes are numbered from 0: the number, with the seed, fixes the order of each shuffle.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hone/data/value.h"

namespace hone::data {

inline constexpr int64_t kInfinite = -1;  ///< as tf.data.INFINITE_CARDINALITY
inline constexpr int64_t kUnknown = -2;   ///< as tf.data.UNKNOWN_CARDINALITY

/// Which pass over a node this is.
struct Pass {
  uint64_t number = 0;
};

/// Elements of one pass, in order. Used by one thread at a time. After an Error the stream may be read on; the elements
/// that the failed call had taken are lost.
class Stream {
 public:
  virtual ~Stream();
  /// Writes the next element; false at the end.
  virtual bool next(Element& out) = 0;
  /// Writes a batch of up to `count` elements; returns their number, 0 at the end.
  virtual int64_t next_batch(int64_t count, Element& out);
  /// Passes over up to `count` elements; returns how many there were.
  virtual int64_t skip(int64_t count);
};

/// Elements by index within one pass. Used by one thread at a time.
class Reader {
 public:
  virtual ~Reader();
  virtual void read(int64_t index, Element& out) = 0;
  /// The batch of these elements (at least one).
  virtual void gather(std::span<const int64_t> indices, Element& out);
};

class Node;
using NodePtr = std::shared_ptr<const Node>;

class Node {
 public:
  explicit Node(std::vector<NodePtr> inputs = {}) : inputs_(std::move(inputs)) {}
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Number of elements, kInfinite or kUnknown.
  virtual int64_t size() const = 0;
  virtual std::unique_ptr<Stream> stream(const Pass& pass) const = 0;
  /// Null if the elements can only be had in order.
  virtual std::unique_ptr<Reader> reader(const Pass& pass) const;
  /// By default the first input's. Nodes that run the user's code ask it for the first element.
  virtual ElementSpec spec() const;
  /// True if reading an element again costs next to nothing.
  virtual bool in_memory() const;
  /// True if passes differ in order, so that keeping the first one freezes it.
  virtual bool reshuffles() const;

  const Node& input(size_t i = 0) const { return *inputs_[i]; }
  std::span<const NodePtr> inputs() const { return inputs_; }

 private:
  std::vector<NodePtr> inputs_;
};

/// The stream 0, 1, ..., count - 1 of a reader.
std::unique_ptr<Stream> in_order(std::unique_ptr<Reader> reader, int64_t begin, int64_t end);
/// The spec of the first element of a pass. Error kFailedPrecondition if there is none.
ElementSpec first_spec(const Node& node);
/// Number of the `index`-th pass within pass `pass` of a node that repeats its input `count` times.
Pass inner_pass(const Pass& pass, int64_t count, uint64_t index);

/// A node that has only a reader.
class IndexedNode : public Node {
 public:
  using Node::Node;
  std::unique_ptr<Stream> stream(const Pass& pass) const final { return in_order(reader(pass), 0, size()); }
};

}  // namespace hone::data

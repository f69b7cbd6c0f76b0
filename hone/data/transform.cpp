// Transformations that hold no elements: map, filter, batch, repeat, take, skip, enumerate, concatenate, zip.
#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/base/interrupt.h"
#include "hone/data/dataset.h"
#include "hone/tensor/interpreter.h"

namespace hone::data {
namespace {

[[noreturn]] void throw_option(std::string_view what, int64_t got, std::string_view expected) {
  throw Error(Code::kInvalidArgument,
              {.what = fmt::format("{} = {}", what, got), .details = {fmt::format("expected: {}", expected)}});
}

int64_t apply(int64_t size, auto known) { return size < 0 ? size : known(size); }

class Map final : public Node {
 public:
  Map(NodePtr input, std::function<void(Element&)> function)
      : Node({std::move(input)}), function_(std::move(function)) {}
  int64_t size() const override { return input().size(); }
  ElementSpec spec() const override { return first_spec(*this); }

  std::unique_ptr<Stream> stream(const Pass& pass) const override {
    if (auto indexed = reader(pass)) return in_order(std::move(indexed), 0, size());
    return std::make_unique<Mapped>(*this, input().stream(pass));
  }
  std::unique_ptr<Reader> reader(const Pass& pass) const override {
    auto inner = input().reader(pass);
    return inner ? std::make_unique<MappedReader>(*this, std::move(inner)) : nullptr;
  }

 private:
  struct Mapped final : Stream {
    Mapped(const Map& map, std::unique_ptr<Stream> inner) : map(map), inner(std::move(inner)) {}
    bool next(Element& out) override {
      if (!inner->next(out)) return false;
      map.function_(out);
      return true;
    }
    int64_t skip(int64_t count) override { return inner->skip(count); }
    const Map& map;
    std::unique_ptr<Stream> inner;
  };
  struct MappedReader final : Reader {
    MappedReader(const Map& map, std::unique_ptr<Reader> inner) : map(map), inner(std::move(inner)) {}
    void read(int64_t index, Element& out) override {
      inner->read(index, out);
      map.function_(out);
    }
    const Map& map;
    std::unique_ptr<Reader> inner;
  };
  std::function<void(Element&)> function_;
};

class Filter final : public Node {
 public:
  Filter(NodePtr input, std::function<bool(Element&)> predicate)
      : Node({std::move(input)}), predicate_(std::move(predicate)) {}
  int64_t size() const override { return input().size() == 0 ? 0 : kUnknown; }
  std::unique_ptr<Stream> stream(const Pass& pass) const override {
    return std::make_unique<Filtered>(*this, input().stream(pass));
  }

 private:
  struct Filtered final : Stream {
    Filtered(const Filter& filter, std::unique_ptr<Stream> inner) : filter(filter), inner(std::move(inner)) {}
    bool next(Element& out) override {
      while (inner->next(out)) {
        if (filter.predicate_(out)) return true;
        // A filter over endless data that keeps nothing would not hear Ctrl-C otherwise.
        if (interrupt_signal() != signal)
          throw Error(Code::kCancelled, "stopped on request while a filter looked for an element");
      }
      return false;
    }
    const Filter& filter;
    std::unique_ptr<Stream> inner;
    const int signal = interrupt_signal();
  };
  std::function<bool(Element&)> predicate_;
};

class Batch final : public Node {
 public:
  Batch(NodePtr input, int64_t count, bool drop) : Node({std::move(input)}), count_(count), drop_(drop) {}
  int64_t size() const override {
    return apply(input().size(), [this](int64_t n) { return n / count_ + (!drop_ && n % count_ != 0); });
  }
  ElementSpec spec() const override {
    ElementSpec spec = input().spec();
    for (ComponentSpec& component : spec) {
      const bool tensor = component.kind == "Tensor" || component.kind == "number";
      if (tensor) component.tensor.shape.insert(0, full() ? Dim(count_) : Dim("batch"));
      component.kind = tensor ? "Tensor" : "vector";
    }
    return spec;
  }
  std::unique_ptr<Stream> stream(const Pass& pass) const override {
    return std::make_unique<Batches>(*this, input().stream(pass));
  }
  std::unique_ptr<Reader> reader(const Pass& pass) const override {
    auto inner = input().reader(pass);
    return inner ? std::make_unique<BatchReader>(*this, std::move(inner)) : nullptr;
  }

 private:
  bool full() const {
    return drop_ || (input().size() >= 0 && input().size() % count_ == 0) || input().size() == kInfinite;
  }
  struct Batches final : Stream {
    Batches(const Batch& batch, std::unique_ptr<Stream> inner) : batch(batch), inner(std::move(inner)) {}
    bool next(Element& out) override {
      const int64_t got = inner->next_batch(batch.count_, out);
      return got == batch.count_ || (got > 0 && !batch.drop_);
    }
    int64_t skip(int64_t count) override {
      int64_t done = 0;
      for (int64_t got = batch.count_; done < count && got == batch.count_;) {
        got = inner->skip(batch.count_);
        done += got == batch.count_ || (got > 0 && !batch.drop_);
      }
      return done;
    }
    const Batch& batch;
    std::unique_ptr<Stream> inner;
  };
  struct BatchReader final : Reader {
    BatchReader(const Batch& batch, std::unique_ptr<Reader> inner)
        : batch(batch), inner(std::move(inner)), rows(batch.input().size()) {}
    void read(int64_t index, Element& out) override {
      indices.clear();
      for (int64_t i = index * batch.count_; i < std::min(rows, (index + 1) * batch.count_); ++i) indices.push_back(i);
      inner->gather(indices, out);
    }
    const Batch& batch;
    std::unique_ptr<Reader> inner;
    int64_t rows;
    std::vector<int64_t> indices;
  };
  int64_t count_;
  bool drop_;
};

class Repeat final : public Node {
 public:
  Repeat(NodePtr input, int64_t count) : Node({std::move(input)}), count_(count) {}
  int64_t size() const override {
    const int64_t n = input().size();
    if (count_ == 0 || n == 0) return 0;
    if (count_ < 0) return kInfinite;
    return apply(n, [this](int64_t known) {
      int64_t product = 0;
      return __builtin_mul_overflow(known, count_, &product) ? kInfinite : product;
    });
  }
  std::unique_ptr<Stream> stream(const Pass& pass) const override { return std::make_unique<Repeated>(*this, pass); }

 private:
  struct Repeated final : Stream {
    Repeated(const Repeat& repeat, const Pass& pass) : repeat(repeat), pass(pass) {}
    bool next(Element& out) override {
      while (open()) {
        if (inner->next(out)) return any = true;
        close();
      }
      return false;
    }
    int64_t skip(int64_t count) override {
      int64_t done = 0;
      while (done < count && open()) {
        const int64_t got = inner->skip(count - done);
        done += got;
        any = any || got > 0;
        if (done < count) close();
      }
      return done;
    }
    bool open() {
      if (!inner && !ended && (repeat.count_ < 0 || index < static_cast<uint64_t>(repeat.count_))) {
        inner = repeat.input().stream(inner_pass(pass, repeat.count_, index++));
        any = false;
      }
      return inner != nullptr;
    }
    void close() {
      inner.reset();
      ended = repeat.count_ < 0 && !any;  // an empty input repeated for ever is empty
    }
    const Repeat& repeat;
    const Pass pass;
    uint64_t index = 0;
    bool any = false, ended = false;
    std::unique_ptr<Stream> inner;
  };
  int64_t count_;
};

/// The elements [begin, begin + count) of the input; count < 0: all from begin on.
class Part final : public Node {
 public:
  Part(NodePtr input, int64_t begin, int64_t count) : Node({std::move(input)}), begin_(begin), count_(count) {}
  int64_t size() const override {
    const int64_t n = input().size();
    if (n == kInfinite) return count_ < 0 ? kInfinite : count_;
    if (n == kUnknown) return count_ == 0 ? 0 : kUnknown;
    const int64_t left = std::max<int64_t>(0, n - begin_);
    return count_ < 0 ? left : std::min(left, count_);
  }
  bool in_memory() const override { return input().in_memory(); }
  std::unique_ptr<Stream> stream(const Pass& pass) const override {
    if (auto inner = input().reader(pass)) return in_order(std::move(inner), begin_, begin_ + size());
    return std::make_unique<Cut>(*this, input().stream(pass));
  }
  std::unique_ptr<Reader> reader(const Pass& pass) const override {
    auto inner = input().reader(pass);
    return inner ? std::make_unique<Shifted>(begin_, std::move(inner)) : nullptr;
  }

 private:
  struct Cut final : Stream {
    Cut(const Part& part, std::unique_ptr<Stream> inner)
        : inner(std::move(inner)),
          skipped(part.begin_ == 0),
          begin(part.begin_),
          left(part.count_ < 0 ? INT64_MAX : part.count_) {}
    bool start() {
      if (!skipped) inner->skip(begin);
      skipped = true;
      return left > 0;
    }
    bool next(Element& out) override {
      if (!start() || !inner->next(out)) return false;
      --left;
      return true;
    }
    int64_t next_batch(int64_t count, Element& out) override {
      return start() ? spend(inner->next_batch(std::min(count, left), out)) : 0;
    }
    int64_t skip(int64_t count) override { return start() ? spend(inner->skip(std::min(count, left))) : 0; }
    int64_t spend(int64_t count) {
      left -= count;
      return count;
    }
    std::unique_ptr<Stream> inner;
    bool skipped;
    int64_t begin, left;
  };
  struct Shifted final : Reader {
    Shifted(int64_t begin, std::unique_ptr<Reader> inner) : begin(begin), inner(std::move(inner)) {}
    void read(int64_t index, Element& out) override { inner->read(begin + index, out); }
    void gather(std::span<const int64_t> indices, Element& out) override {
      shifted.assign(indices.begin(), indices.end());
      for (int64_t& i : shifted) i += begin;
      inner->gather(shifted, out);
    }
    int64_t begin;
    std::unique_ptr<Reader> inner;
    std::vector<int64_t> shifted;
  };
  int64_t begin_, count_;
};

class Enumerate final : public Node {
 public:
  Enumerate(NodePtr input, int64_t start) : Node({std::move(input)}), start_(start) {}
  int64_t size() const override { return input().size(); }
  ElementSpec spec() const override {
    ElementSpec spec = input().spec();
    spec.insert(spec.begin(), {"number", {i64, {}}});
    return spec;
  }
  std::unique_ptr<Stream> stream(const Pass& pass) const override {
    return std::make_unique<Counted>(start_, input().stream(pass));
  }
  std::unique_ptr<Reader> reader(const Pass& pass) const override {
    auto inner = input().reader(pass);
    return inner ? std::make_unique<CountedReader>(start_, std::move(inner)) : nullptr;
  }

 private:
  struct Counted final : Stream {
    Counted(int64_t start, std::unique_ptr<Stream> inner) : index(start), inner(std::move(inner)) {}
    bool next(Element& out) override {
      if (!inner->next(out)) return false;
      out.insert(out.begin(), Value(index++));
      return true;
    }
    int64_t skip(int64_t count) override {
      const int64_t done = inner->skip(count);
      index += done;
      return done;
    }
    int64_t index;
    std::unique_ptr<Stream> inner;
  };
  struct CountedReader final : Reader {
    CountedReader(int64_t start, std::unique_ptr<Reader> inner) : start(start), inner(std::move(inner)) {}
    void read(int64_t index, Element& out) override {
      inner->read(index, out);
      out.insert(out.begin(), Value(start + index));
    }
    int64_t start;
    std::unique_ptr<Reader> inner;
  };
  int64_t start_;
};

class Concatenate final : public Node {
 public:
  Concatenate(NodePtr first, NodePtr second) : Node({std::move(first), std::move(second)}) {}
  int64_t size() const override {
    const int64_t a = input(0).size(), b = input(1).size();
    if (a == kInfinite || b == kInfinite) return kInfinite;
    return a < 0 || b < 0 ? kUnknown : a + b;
  }
  bool in_memory() const override { return input(0).in_memory() && input(1).in_memory(); }
  std::unique_ptr<Stream> stream(const Pass& pass) const override { return std::make_unique<Chained>(*this, pass); }
  std::unique_ptr<Reader> reader(const Pass& pass) const override {
    auto first = input(0).reader(pass), second = input(1).reader(pass);
    return first && second ? std::make_unique<ChainedReader>(std::move(first), std::move(second), input(0).size())
                           : nullptr;
  }

 private:
  struct Chained final : Stream {
    Chained(const Concatenate& node, const Pass& pass) : node(node), pass(pass), inner(node.input(0).stream(pass)) {}
    bool next(Element& out) override { return inner->next(out) || (advance() && inner->next(out)); }
    int64_t skip(int64_t count) override {
      const int64_t done = inner->skip(count);
      return done < count && advance() ? done + inner->skip(count - done) : done;
    }
    bool advance() {
      if (second) return false;
      inner = node.input(1).stream(pass);
      return second = true;
    }
    const Concatenate& node;
    const Pass pass;
    std::unique_ptr<Stream> inner;
    bool second = false;
  };
  struct ChainedReader final : Reader {
    ChainedReader(std::unique_ptr<Reader> first, std::unique_ptr<Reader> second, int64_t size)
        : first(std::move(first)), second(std::move(second)), size(size) {}
    void read(int64_t index, Element& out) override {
      index < size ? first->read(index, out) : second->read(index - size, out);
    }
    std::unique_ptr<Reader> first, second;
    int64_t size;
  };
};

class Zip final : public Node {
 public:
  explicit Zip(std::vector<NodePtr> inputs) : Node(std::move(inputs)) {}
  int64_t size() const override {
    int64_t least = kInfinite;
    for (const NodePtr& part : inputs()) {
      const int64_t n = part->size();
      if (n == kUnknown) return kUnknown;
      if (n >= 0) least = least < 0 ? n : std::min(least, n);
    }
    return least;
  }
  ElementSpec spec() const override {
    ElementSpec spec;
    for (const NodePtr& part : inputs()) {
      for (ComponentSpec& component : part->spec()) spec.push_back(std::move(component));
    }
    return spec;
  }
  bool in_memory() const override {
    return std::ranges::all_of(inputs(), [](const NodePtr& part) { return part->in_memory(); });
  }
  std::unique_ptr<Stream> stream(const Pass& pass) const override {
    auto zipped = std::make_unique<Zipped>();
    for (const NodePtr& part : inputs()) zipped->parts.push_back(part->stream(pass));
    return zipped;
  }
  std::unique_ptr<Reader> reader(const Pass& pass) const override {
    auto zipped = std::make_unique<ZippedReader>();
    for (const NodePtr& part : inputs()) {
      zipped->parts.push_back(part->reader(pass));
      if (!zipped->parts.back()) return nullptr;
    }
    return zipped;
  }

 private:
  static void append(Element& out, Element& part) {
    for (Value& value : part) out.push_back(std::move(value));
  }
  struct Zipped final : Stream {
    bool next(Element& out) override {
      out.clear();
      for (auto& part : parts) {
        Element values;
        if (!part->next(values)) return false;
        append(out, values);
      }
      return true;
    }
    int64_t skip(int64_t count) override {
      for (auto& part : parts) count = std::min(count, part->skip(count));
      return count;
    }
    std::vector<std::unique_ptr<Stream>> parts;
  };
  struct ZippedReader final : Reader {
    void read(int64_t index, Element& out) override {
      out.clear();
      for (auto& part : parts) {
        Element values;
        part->read(index, values);
        append(out, values);
      }
    }
    void gather(std::span<const int64_t> indices, Element& out) override {
      out.clear();
      for (auto& part : parts) {
        Element values;
        part->gather(indices, values);
        append(out, values);
      }
    }
    std::vector<std::unique_ptr<Reader>> parts;
  };
};

}  // namespace

namespace detail {

Cursor::Cursor(NodePtr node, const Pass& pass) : node_(std::move(node)), stream_(node_->stream(pass)) {}
Cursor::~Cursor() = default;

bool Cursor::next(Element& out) {
  const InterpreterScope plain(nullptr);
  return stream_->next(out);
}

int64_t Cursor::skip(int64_t count) {
  const InterpreterScope plain(nullptr);
  return count > 0 ? stream_->skip(count) : 0;
}

NodePtr make_map(NodePtr input, std::function<void(Element&)> function, const MapOptions& options) {
  if (options.num_parallel_calls < 1 && options.num_parallel_calls != AUTOTUNE) {
    throw_option("map: num_parallel_calls", options.num_parallel_calls, "at least 1, or data::AUTOTUNE");
  }
  return std::make_shared<Map>(std::move(input), std::move(function));
}

NodePtr make_filter(NodePtr input, std::function<bool(Element&)> predicate) {
  return std::make_shared<Filter>(std::move(input), std::move(predicate));
}

NodePtr make_batch(NodePtr input, int64_t batch_size, const BatchOptions& options) {
  if (batch_size < 1) throw_option("batch: batch_size", batch_size, "at least 1");
  return std::make_shared<Batch>(std::move(input), batch_size, options.drop_remainder);
}

NodePtr make_repeat(NodePtr input, int64_t count) {
  if (count < -1) throw_option("repeat: count", count, "at least 0, or -1 to repeat without end");
  return std::make_shared<Repeat>(std::move(input), count);
}

NodePtr make_take(NodePtr input, int64_t count) {
  if (count < -1) throw_option("take: count", count, "at least 0, or -1 for all");
  return std::make_shared<Part>(std::move(input), 0, count);
}

NodePtr make_skip(NodePtr input, int64_t count) {
  if (count < -1) throw_option("skip: count", count, "at least 0, or -1 for all");
  return count == -1 ? std::make_shared<Part>(std::move(input), 0, 0)
                     : std::make_shared<Part>(std::move(input), count, -1);
}

NodePtr make_enumerate(NodePtr input, int64_t start) { return std::make_shared<Enumerate>(std::move(input), start); }

NodePtr make_concatenate(NodePtr first, NodePtr second) {
  return std::make_shared<Concatenate>(std::move(first), std::move(second));
}

NodePtr make_zip(std::vector<NodePtr> inputs) { return std::make_shared<Zip>(std::move(inputs)); }

}  // namespace detail
}  // namespace hone::data

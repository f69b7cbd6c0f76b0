#include "hone/data/sources.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/formats/idx.h"

namespace hone::data {
namespace {

TensorType row_type(const Tensor& tensor) {
  TensorType type = tensor.type();
  type.shape.erase(0);
  return type;
}

class Slices final : public IndexedNode {
 public:
  explicit Slices(const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) {
      const TensorType type = row_type(tensor);
      columns_.push_back({tensor.dense(), type, static_cast<size_t>(type.shape.count()) * size_of(type.dtype)});
    }
  }
  int64_t size() const override { return columns_[0].tensor.dim(0); }
  bool in_memory() const override { return true; }
  ElementSpec spec() const override {
    ElementSpec spec;
    for (const Column& column : columns_) spec.push_back({"Tensor", column.row});
    return spec;
  }
  std::unique_ptr<Reader> reader(const Pass&) const override { return std::make_unique<Rows>(*this); }

 private:
  struct Column {
    Tensor tensor;
    TensorType row;
    size_t bytes;  // of a row
  };
  struct Rows final : Reader {
    explicit Rows(const Slices& node) : node(node) {}
    void read(int64_t index, Element& out) override {
      out.clear();
      for (const Column& column : node.columns_)
        out.push_back(Value(column.tensor.alias(column.row, static_cast<size_t>(index) * column.bytes)));
    }
    void gather(std::span<const int64_t> indices, Element& out) override {
      out.clear();
      bool consecutive = true;
      for (size_t i = 1; i < indices.size(); ++i) consecutive = consecutive && indices[i] == indices[i - 1] + 1;
      for (const Column& column : node.columns_)
        out.push_back(Value(consecutive ? view(column, indices) : copy(column, indices)));
    }
    static TensorType batch_type(const Column& column, size_t rows) {
      TensorType type = column.row;
      type.shape.insert(0, static_cast<int64_t>(rows));
      return type;
    }
    static Tensor view(const Column& column, std::span<const int64_t> indices) {
      return column.tensor.alias(batch_type(column, indices.size()), static_cast<size_t>(indices[0]) * column.bytes);
    }
    static Tensor copy(const Column& column, std::span<const int64_t> indices) {
      Tensor out = Tensor::empty(batch_type(column, indices.size()));
      std::byte* to = out.mutable_bytes();
      const auto* from = static_cast<const std::byte*>(column.tensor.raw());
      const size_t bytes = column.bytes;
      if (bytes == 1) {  // labels: a call of memcpy for each would cost more than the byte
        for (const int64_t index : indices) *to++ = from[index];
        return out;
      }
      for (const int64_t index : indices) {
        if (bytes) std::memcpy(to, from + static_cast<size_t>(index) * bytes, bytes);
        to += bytes;
      }
      return out;
    }
    const Slices& node;
  };
  std::vector<Column> columns_;
};

class Range final : public IndexedNode {
 public:
  Range(int64_t start, int64_t step, int64_t size) : start_(start), step_(step), size_(size) {}
  int64_t size() const override { return size_; }
  bool in_memory() const override { return true; }
  ElementSpec spec() const override { return {{"number", {i64, {}}}}; }
  std::unique_ptr<Reader> reader(const Pass&) const override { return std::make_unique<Numbers>(start_, step_); }

 private:
  struct Numbers final : Reader {
    Numbers(int64_t start, int64_t step) : start(start), step(step) {}
    void read(int64_t index, Element& out) override {
      out.clear();
      out.push_back(Value(start + index * step));
    }
    void gather(std::span<const int64_t> indices, Element& out) override {
      Tensor batch = Tensor::empty({i64, {static_cast<int64_t>(indices.size())}});
      auto* to = reinterpret_cast<int64_t*>(batch.mutable_bytes());
      for (const int64_t index : indices) *to++ = start + index * step;
      out.clear();
      out.push_back(Value(std::move(batch)));
    }
    int64_t start, step;
  };
  int64_t start_, step_, size_;
};

class Generator final : public Node {
 public:
  explicit Generator(std::function<std::function<bool(Element&)>()> start) : start_(std::move(start)) {}
  int64_t size() const override { return kUnknown; }
  ElementSpec spec() const override { return first_spec(*this); }
  std::unique_ptr<Stream> stream(const Pass&) const override { return std::make_unique<Generating>(start_()); }

 private:
  struct Generating final : Stream {
    explicit Generating(std::function<bool(Element&)> function) : function(std::move(function)) {}
    bool next(Element& out) override {
      if (function && !function(out)) function = {};  // the end is the end, whatever it would return later
      return static_cast<bool>(function);
    }
    std::function<bool(Element&)> function;
  };
  std::function<std::function<bool(Element&)>()> start_;
};

}  // namespace

NodePtr detail::make_slices(std::vector<Tensor> tensors, Location location) {
  for (const Tensor& tensor : tensors) {
    if (tensor.defined() && tensor.rank() > 0 && tensor.dim(0) == tensors[0].dim(0)) continue;
    std::vector<std::string> details;
    for (size_t i = 0; i < tensors.size(); ++i) {
      details.push_back(fmt::format(
          "argument {}: {}", i, tensors[i].defined() ? to_string(tensors[i].type()) : "a Tensor that was never set"));
    }
    const bool scalar = !tensor.defined() || tensor.rank() == 0;
    throw Error(Code::kInvalidArgument,
                {.what = scalar ? "from_tensor_slices needs tensors with rows"
                                : "from_tensor_slices: different numbers of rows",
                 .location = location,
                 .details = std::move(details),
                 .fix = scalar ? "give each tensor at least one axis" : "give all tensors the same extent of axis 0"});
  }
  return std::make_shared<Slices>(tensors);
}

NodePtr detail::make_range(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) throw Error(Code::kInvalidArgument, "data::range: step = 0", "use a step above or below 0");
  const auto distance = static_cast<__int128>(stop) - start, wide_step = static_cast<__int128>(step);
  const __int128 size = (distance > 0) == (step > 0) ? (distance + wide_step + (step > 0 ? -1 : 1)) / wide_step : 0;
  if (size > INT64_MAX) throw Error(Code::kOutOfRange, "data::range: more than 2^63 - 1 elements", "use a larger step");
  return std::make_shared<Range>(start, step, static_cast<int64_t>(size));
}

NodePtr detail::make_generator(std::function<std::function<bool(Element&)>()> start) {
  return std::make_shared<Generator>(std::move(start));
}

Dataset<Tensor, Tensor> idx(const std::string& images, const std::string& labels) {
  Tensor x = formats::read_idx(images);
  const Tensor y = formats::read_idx(labels);
  if (x.rank() == 0 || y.rank() == 0 || x.dim(0) != y.dim(0)) {
    throw Error(Code::kInvalidArgument, {.what = "images and labels differ in number",
                                         .details = {fmt::format("{}: {}", images, to_string(x.type())),
                                                     fmt::format("{}: {}", labels, to_string(y.type()))},
                                         .fix = "pass two files of one set, the images first"});
  }
  if (x.rank() == 3) {
    TensorType type = x.type();
    type.shape.push_back(1);
    x = x.alias(type);
  }
  return from_tensor_slices(x, y);
}

std::vector<std::string> fashion_mnist_classes() {
  return {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"};
}

Splits fashion_mnist(const std::string& folder) {
  const auto part = [&](const std::string& name) {
    return idx(folder + "/" + name + "-images-idx3-ubyte.gz", folder + "/" + name + "-labels-idx1-ubyte.gz")
        .with_class_names(fashion_mnist_classes());
  };
  try {
    return {part("train"), part("t10k")};
  } catch (const Error& e) {
    if (e.code() != Code::kNotFound) throw;
    throw Error(Code::kNotFound, {.what = "the files of Fashion-MNIST are missing",
                                  .details = {e.parts().what},
                                  .fix = "install them (apt install dataset-fashion-mnist), or pass the folder that "
                                         "has them: fashion_mnist(folder)"});
  }
}

}  // namespace hone::data

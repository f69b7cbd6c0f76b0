// What fit, evaluate and predict read: batches of tensors, whatever they come from.
#pragma once
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "hone/data/dataset.h"

namespace hone::nn {

/// One pass over the data: writes the next batch {x}, {x, y} or {x, y, sample_weight}; false at the end.
using BatchStream = std::function<bool(std::vector<Tensor>& batch)>;

/// A repeatable source of batches; any Dataset of one to three Tensors is one. Copies share the data.
class DataSource {
 public:
  DataSource() = default;
  DataSource(std::function<BatchStream()> open, int64_t batches = -1, std::vector<std::string> class_names = {})
      : open_(std::move(open)), batches_(batches), class_names_(std::move(class_names)) {}
  template <class... T>
    requires(std::is_same_v<T, Tensor> && ...)
  DataSource(const data::Dataset<T...>& dataset)  // NOLINT: a dataset is a source
      : DataSource(
            [dataset]() -> BatchStream {
              return [iterator = dataset.iterator()](std::vector<Tensor>& batch) mutable {
                batch.clear();
                auto item = iterator.next();
                if (!item) return false;
                if constexpr (sizeof...(T) == 1)
                  batch.push_back(std::move(*item));
                else
                  std::apply([&](auto&... parts) { (batch.push_back(std::move(parts)), ...); }, *item);
                return true;
              };
            },
            dataset.size(), dataset.class_names()) {}

  bool defined() const { return static_cast<bool>(open_); }
  BatchStream open() const { return open_(); }
  /// Batches in one pass; negative if unknown or endless.
  int64_t batches() const { return batches_; }
  const std::vector<std::string>& class_names() const { return class_names_; }

 private:
  std::function<BatchStream()> open_;
  int64_t batches_ = -1;
  std::vector<std::string> class_names_;
};

}  // namespace hone::nn

// Input pipelines: a Dataset describes a sequence of elements; each pass over it runs the pipeline anew.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "hone/data/node.h"
#include "hone/data/value.h"
#include "hone/tensor/tensor.h"

namespace hone::data {

/// Lets Hone choose a number of threads or a depth.
inline constexpr int AUTOTUNE = -1;  // NOLINT: tf.data's name

struct MapOptions {
  int num_parallel_calls = 1;  ///< >= 1 or AUTOTUNE. This engine makes the calls one after another, in order
  bool deterministic = true;   ///< order is kept in either case
};
struct ShuffleOptions {
  std::optional<int64_t> seed =
      {};  ///< the same seed gives the same order on every machine; none: another one each run
  bool reshuffle_each_iteration = true;  ///< false: each pass has the order of the first
};
struct BatchOptions {
  bool drop_remainder = false;  ///< leave out a last batch that is not full
};
struct IteratorOptions {
  int64_t pass = -1;  ///< number of the pass (epoch), which fixes the orders of shuffles; -1: one more than the last
};

namespace detail {

/// One running pass; keeps the pipeline. Ops of the pipeline's functions are recorded on no tape.
class Cursor {
 public:
  Cursor(NodePtr node, const Pass& pass);
  ~Cursor();
  bool next(Element& out);
  int64_t skip(int64_t count);

 private:
  NodePtr node_;
  std::unique_ptr<Stream> stream_;
};

NodePtr make_map(NodePtr input, std::function<void(Element&)> function, const MapOptions& options);
NodePtr make_filter(NodePtr input, std::function<bool(Element&)> predicate);
NodePtr make_shuffle(NodePtr input, int64_t buffer_size, const ShuffleOptions& options);
NodePtr make_cache(NodePtr input);
NodePtr make_batch(NodePtr input, int64_t batch_size, const BatchOptions& options);
NodePtr make_repeat(NodePtr input, int64_t count);
NodePtr make_take(NodePtr input, int64_t count);
NodePtr make_skip(NodePtr input, int64_t count);
NodePtr make_prefetch(NodePtr input, int64_t buffer_size);
NodePtr make_enumerate(NodePtr input, int64_t start);
NodePtr make_concatenate(NodePtr first, NodePtr second);
NodePtr make_zip(std::vector<NodePtr> inputs);
NodePtr make_generator(std::function<std::function<bool(Element&)>()> start);

/// What travels with a dataset beside its pipeline.
struct Handle {
  NodePtr node;
  std::shared_ptr<const std::vector<std::string>> class_names;
  std::shared_ptr<std::atomic<uint64_t>> passes = std::make_shared<std::atomic<uint64_t>>(0);
};

template <class R>
struct Unpack {
  static constexpr bool kTuple = false;
};
template <class... T>
struct Unpack<std::tuple<T...>> {
  static constexpr bool kTuple = true;
};
template <class A, class B>
struct Unpack<std::pair<A, B>> {
  static constexpr bool kTuple = true;
};

/// Literals and views become strings: what a view looks at may be gone when the element is read.
template <class T, class U = std::remove_cvref_t<T>>
using Stored = std::conditional_t<std::is_convertible_v<U, std::string_view> && !std::is_same_v<U, std::nullptr_t>,
                                  std::string, U>;

template <class T>
void put(Element& element, T&& value) {
  if constexpr (Unpack<std::remove_cvref_t<T>>::kTuple) {
    std::apply([&](auto&&... parts) { (put(element, std::forward<decltype(parts)>(parts)), ...); },
               std::forward<T>(value));
  } else {
    element.push_back(Value(Stored<T>(std::forward<T>(value))));
  }
}

template <class... T, size_t... I>
decltype(auto) apply_moved(auto& f, Element& element, std::index_sequence<I...>) {
  return std::invoke(f, std::move(element[I].template get<T>())...);
}
template <class... T, size_t... I>
decltype(auto) apply_const(auto& f, Element& element, std::index_sequence<I...>) {
  return std::invoke(f, std::as_const(element[I]).template get<T>()...);
}

}  // namespace detail

template <class... T>
class Dataset;

namespace detail {

template <class R>
struct DatasetOf {
  using Type = Dataset<Stored<R>>;
};
template <class... T>
struct DatasetOf<std::tuple<T...>> {
  using Type = Dataset<Stored<T>...>;
};
template <class A, class B>
struct DatasetOf<std::pair<A, B>> {
  using Type = Dataset<Stored<A>, Stored<B>>;
};

/// The Dataset of a function's results; for a wrong function (already reported) any Dataset, so that no more errors
/// follow.
template <bool Ok, class F, class... T>
struct MapResult {
  using Type = Dataset<T...>;
};
template <class F, class... T>
struct MapResult<true, F, T...> {
  using Type = typename DatasetOf<std::remove_cvref_t<std::invoke_result_t<F&, T...>>>::Type;
};
template <bool Ok, class F, class... T>
inline constexpr bool kReturnsNothing = false;
template <class F, class... T>
inline constexpr bool kReturnsNothing<true, F, T...> = std::is_void_v<std::invoke_result_t<F&, T...>>;
template <bool Ok, class F, class... T>
inline constexpr bool kReturnsTruth = true;
template <class F, class... T>
inline constexpr bool kReturnsTruth<true, F, T...> =
    std::is_convertible_v<std::invoke_result_t<F&, const T&...>, bool> ||
    std::is_same_v<std::remove_cvref_t<std::invoke_result_t<F&, const T&...>>, Tensor>;

}  // namespace detail

/// A running pass over a Dataset. An element is a T for one component, else a std::tuple. Movable; used by one thread
/// at a time. Its destructor stops and joins the threads of the pass.
template <class... T>
class Iterator {
 public:
  using Item = std::conditional_t<sizeof...(T) == 1, std::tuple_element_t<0, std::tuple<T..., void>>, std::tuple<T...>>;
  explicit Iterator(std::shared_ptr<detail::Cursor> cursor) : cursor_(std::move(cursor)) {}

  /// The next element, or nothing at the end. Errors of the pipeline's functions pass through.
  std::optional<Item> next() {
    Element element;
    if (!cursor_->next(element)) return std::nullopt;
    return item(element, std::index_sequence_for<T...>{});
  }
  /// Passes over up to `count` elements without making them where the pipeline allows; returns how many there were.
  int64_t skip(int64_t count) { return cursor_->skip(count); }

  struct End {};
  /// For range-for.
  class Position {
   public:
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    explicit Position(Iterator iterator) : iterator_(std::move(iterator)) { ++*this; }
    const Item& operator*() const { return *item_; }
    const Item* operator->() const { return &*item_; }
    Position& operator++() {
      item_.reset();  // first: its memory may serve the next element
      item_ = iterator_.next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(End) const { return !item_; }

   private:
    Iterator iterator_;
    std::optional<Item> item_;
  };
  Position begin() { return Position(*this); }
  End end() const { return {}; }

 private:
  template <size_t... I>
  static Item item(Element& element, std::index_sequence<I...>) {
    return Item(std::move(element[I].template get<T>())...);
  }
  std::shared_ptr<detail::Cursor> cursor_;
};

/// A sequence of elements of the components T... (Tensor, numbers, std::string, any copyable type). A handle: copies
/// share the pipeline and the count of passes. Transformations give a new Dataset and leave this one as it is.
/// Thread-safe; a function given to map, filter or generator runs on the thread that reads, or on that of a later
/// prefetch, and must be thread-safe only if two passes run at once.
///
/// Order never depends on threads. A pass numbered k has the same order in every run with the same seeds.
template <class... T>
class Dataset {
 public:
  using Item = typename Iterator<T...>::Item;
  explicit Dataset(detail::Handle handle) : handle_(std::move(handle)) {}

  /// Applies f to the components of each element: f(T...) gives a value, or a tuple or pair of the new components.
  /// f may change or keep its arguments.
  template <class F>
  auto map(F f, const MapOptions& options = {}) const {
    constexpr bool kTakes = std::is_invocable_v<F&, T...>;
    static_assert(std::is_copy_constructible_v<F>,
                  "Dataset::map: the function must be copyable; capture what it owns in a std::shared_ptr");
    static_assert(kTakes,
                  "Dataset::map: the function must take the components of an element in their order, as f(Tensor, "
                  "Tensor) for a Dataset<Tensor, Tensor>");
    static_assert(!detail::kReturnsNothing<kTakes, F, T...>,
                  "Dataset::map: the function must return the new element: a value, or a std::tuple of values");
    using Result = typename detail::MapResult<kTakes && !detail::kReturnsNothing<kTakes, F, T...>, F, T...>::Type;
    std::function<void(Element&)> function;
    if constexpr (kTakes && !detail::kReturnsNothing<kTakes, F, T...>) {
      function = [f = std::move(f)](Element& element) mutable {
        auto result = detail::apply_moved<T...>(f, element, std::index_sequence_for<T...>{});
        element.clear();
        detail::put(element, std::move(result));
      };
    }
    return Result(derive(detail::make_map(handle_.node, std::move(function), options)));
  }
  /// Keeps the elements for which predicate(const T&...) is true (a bool, or a Tensor with one element).
  template <class F>
  Dataset filter(F predicate) const {
    constexpr bool kTakes = std::is_invocable_v<F&, const T&...>;
    static_assert(std::is_copy_constructible_v<F>,
                  "Dataset::filter: the predicate must be copyable; capture what it owns in a std::shared_ptr");
    static_assert(kTakes, "Dataset::filter: the predicate must take the components of an element in their order");
    static_assert(detail::kReturnsTruth<kTakes, F, T...>,
                  "Dataset::filter: the predicate must return bool or a bool Tensor");
    std::function<bool(Element&)> function;
    if constexpr (kTakes && detail::kReturnsTruth<kTakes, F, T...>) {
      function = [predicate = std::move(predicate)](Element& element) mutable -> bool {
        const auto result = detail::apply_const<T...>(predicate, element, std::index_sequence_for<T...>{});
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(result)>, Tensor>)
          return result.template item<bool>();
        else
          return static_cast<bool>(result);
      };
    }
    return Dataset(derive(detail::make_filter(handle_.node, std::move(function))));
  }
  /// Elements in random order: each is drawn from the next `buffer_size` ones, so a buffer of at least size() gives a
  /// full permutation. Where elements can be had by index (slices, range, maps of these, cache) only indices are kept,
  /// 8 bytes each; else the buffer holds elements. The order is the same in both cases. buffer_size kUnknown = all
  /// elements.
  Dataset shuffle(int64_t buffer_size, const ShuffleOptions& options = {}) const {
    return Dataset(derive(detail::make_shuffle(handle_.node, buffer_size, options)));
  }
  /// Keeps the elements in memory as they are first read; later passes read them from there. Elements are kept even if
  /// a pass ends early. Shuffle after cache, not before.
  Dataset cache() const { return Dataset(derive(detail::make_cache(handle_.node))); }
  /// Joins `batch_size` consecutive elements: numbers and Tensors give a Tensor with one more axis in front, other
  /// types a std::vector. Error kInvalidArgument if Tensors of a batch differ in shape or dtype.
  Dataset<Batched<T>...> batch(int64_t batch_size, const BatchOptions& options = {}) const {
    static_assert(((kBatchDepth<T> < kMaxBatchDepth) && ...),
                  "Dataset::batch: values that are not Tensors or numbers can be batched twice at most");
    return Dataset<Batched<T>...>(derive(detail::make_batch(handle_.node, batch_size, options)));
  }
  /// All elements `count` times, or without end (-1). Each repetition is a pass of its own: shuffles before differ.
  Dataset repeat(int64_t count = -1) const { return Dataset(derive(detail::make_repeat(handle_.node, count))); }
  /// The first `count` elements (-1: all).
  Dataset take(int64_t count) const { return Dataset(derive(detail::make_take(handle_.node, count))); }
  /// All but the first `count` elements (-1: none).
  Dataset skip(int64_t count) const { return Dataset(derive(detail::make_skip(handle_.node, count))); }
  /// Prepares up to `buffer_size` elements on a thread of its own while the caller works; 0: none. AUTOTUNE: up to 8
  /// elements and 32 MiB, and no thread where threads() is 1 or the host has set an executor.
  Dataset prefetch(int64_t buffer_size) const {
    return Dataset(derive(detail::make_prefetch(handle_.node, buffer_size)));
  }
  /// Puts the index of each element in front.
  Dataset<int64_t, T...> enumerate(int64_t start = 0) const {
    return Dataset<int64_t, T...>(derive(detail::make_enumerate(handle_.node, start)));
  }
  /// The elements of this dataset, then those of `next`.
  Dataset concatenate(const Dataset& next) const {
    return Dataset(derive(detail::make_concatenate(handle_.node, next.handle_.node)));
  }

  /// Number of elements of a pass; kInfinite (-1) or kUnknown (-2), as tf.data's cardinality.
  int64_t size() const { return handle_.node->size(); }
  /// Kinds, dtypes and shapes of the components; a batch that may be short has the symbol "batch" in front. Where the
  /// user's code makes the elements, it is run for the first one and the others are taken to be alike.
  ElementSpec element_spec() const { return handle_.node->spec(); }
  /// Names of the classes that the labels number; empty if none are known. They pass through all transformations.
  const std::vector<std::string>& class_names() const {
    static const std::vector<std::string> kNone;
    return handle_.class_names ? *handle_.class_names : kNone;
  }
  Dataset with_class_names(std::vector<std::string> names) const {
    detail::Handle handle = derive(handle_.node);
    handle.class_names = std::make_shared<const std::vector<std::string>>(std::move(names));
    return Dataset(std::move(handle));
  }

  /// Starts a pass.
  Iterator<T...> iterator(const IteratorOptions& options = {}) const {
    const uint64_t number = options.pass >= 0 ? static_cast<uint64_t>(options.pass) : handle_.passes->fetch_add(1);
    return Iterator<T...>(std::make_shared<detail::Cursor>(handle_.node, Pass{number}));
  }
  /// Starts the next pass, for range-for.
  typename Iterator<T...>::Position begin() const { return iterator().begin(); }
  typename Iterator<T...>::End end() const { return {}; }

  const detail::Handle& handle() const { return handle_; }

 private:
  detail::Handle derive(NodePtr node) const { return {.node = std::move(node), .class_names = handle_.class_names}; }
  detail::Handle handle_;
};

/// Elements of several datasets side by side, until the shortest ends.
template <class... A, class... B>
Dataset<A..., B...> zip(const Dataset<A...>& a, const Dataset<B...>& b) {
  return Dataset<A..., B...>(
      detail::Handle{.node = detail::make_zip({a.handle().node, b.handle().node}),
                     .class_names = a.handle().class_names ? a.handle().class_names : b.handle().class_names});
}
template <class A, class B, class... More>
  requires(sizeof...(More) > 0)
auto zip(const A& a, const B& b, const More&... more) {
  return zip(zip(a, b), more...);
}

}  // namespace hone::data

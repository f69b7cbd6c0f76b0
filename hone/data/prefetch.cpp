// prefetch: a thread that runs the pipeline ahead of its reader.
#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "hone/base/error.h"
#include "hone/base/parallel.h"
#include "hone/data/dataset.h"

namespace hone::data {
namespace {

constexpr size_t kAutoElements = 8, kAutoBytes = size_t{32} << 20;

struct Limits {
  size_t elements, bytes;
};

/// What the thread hands over: an element, or what went wrong, or the end.
struct Item {
  Element element;
  std::exception_ptr error;
  bool end = false;
  size_t bytes = 0;
};

class Ahead final : public Stream {
 public:
  Ahead(std::unique_ptr<Stream> inner, Limits limits)
      : inner_(std::move(inner)), limits_(limits), thread_([this] { work(); }) {}
  ~Ahead() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    room_.notify_one();
    thread_.join();
  }

  bool next(Element& out) override {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return !items_.empty(); });
    if (items_.front().end) return false;  // stays: the end is the answer to every later call too
    Item item = std::move(items_.front());
    items_.pop_front();
    bytes_ -= item.bytes;
    lock.unlock();
    room_.notify_one();
    if (item.error) std::rethrow_exception(item.error);
    out = std::move(item.element);
    return true;
  }

 private:
  void work() {
    const parallel_detail::InLoop single;  // the cores belong to the reader: ops here run on this thread alone
    while (wait_for_room()) {
      Item item = produce();
      const bool end = item.end;
      {
        const std::lock_guard lock(mutex_);
        bytes_ += item.bytes;
        items_.push_back(std::move(item));
      }
      filled_.notify_one();
      if (end) return;
    }
  }
  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] {
      return stop_ || items_.empty() || (items_.size() < limits_.elements && bytes_ < limits_.bytes);
    });
    return !stop_;
  }
  Item produce() {
    Item item;
    try {
      item.end = !inner_->next(item.element);
      for (const Value& value : item.element) item.bytes += value.bytes();
    } catch (...) {
      item = {};
      item.error = std::current_exception();
    }
    return item;
  }

  std::unique_ptr<Stream> inner_;
  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable filled_, room_;
  std::deque<Item> items_;
  size_t bytes_ = 0;
  bool stop_ = false;
  std::thread thread_;  // last: it uses all of the above
};

class Prefetch final : public Node {
 public:
  Prefetch(NodePtr input, int64_t buffer) : Node({std::move(input)}), buffer_(buffer) {}
  int64_t size() const override { return input().size(); }
  bool in_memory() const override { return input().in_memory(); }
  std::unique_ptr<Reader> reader(const Pass& pass) const override { return input().reader(pass); }
  std::unique_ptr<Stream> stream(const Pass& pass) const override {
    auto inner = input().stream(pass);
    if (buffer_ == 0 || (buffer_ == AUTOTUNE && (threads() == 1 || has_executor()))) return inner;
    const Limits limits =
        buffer_ == AUTOTUNE ? Limits{kAutoElements, kAutoBytes} : Limits{static_cast<size_t>(buffer_), SIZE_MAX};
    return std::make_unique<Ahead>(std::move(inner), limits);
  }

 private:
  int64_t buffer_;
};

}  // namespace

NodePtr detail::make_prefetch(NodePtr input, int64_t buffer_size) {
  if (buffer_size < 0 && buffer_size != AUTOTUNE) {
    throw Error(Code::kInvalidArgument, {.what = fmt::format("prefetch: buffer_size = {}", buffer_size),
                                         .details = {"expected: at least 0, or data::AUTOTUNE"}});
  }
  return std::make_shared<Prefetch>(std::move(input), buffer_size);
}

}  // namespace hone::data

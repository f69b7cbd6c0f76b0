#include "hone/base/arena.h"

#include <algorithm>
#include <limits>
#include <new>

namespace hone {

struct Arena::Chunk {
  Chunk* next;
  size_t bytes;  // after this header
  uintptr_t begin() const { return reinterpret_cast<uintptr_t>(this + 1); }
};

Arena::~Arena() {
  while (first_ != nullptr) ::operator delete(std::exchange(first_, first_->next));
}

Arena::Arena(Arena&& other) noexcept
    : at_(std::exchange(other.at_, 0)),
      end_(std::exchange(other.end_, 0)),
      chunk_bytes_(other.chunk_bytes_),
      used_before_(std::exchange(other.used_before_, 0)),
      first_(std::exchange(other.first_, nullptr)),
      current_(std::exchange(other.current_, nullptr)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  Arena taken(std::move(other));
  std::swap(at_, taken.at_);
  std::swap(end_, taken.end_);
  std::swap(chunk_bytes_, taken.chunk_bytes_);
  std::swap(used_before_, taken.used_before_);
  std::swap(first_, taken.first_);
  std::swap(current_, taken.current_);
  return *this;
}

size_t Arena::array_bytes(size_t count, size_t size) {
  if (count > std::numeric_limits<size_t>::max() / size) throw std::bad_array_new_length();
  return count * size;
}

void Arena::enter(Chunk* chunk) {
  if (current_ != nullptr) used_before_ += at_ - current_->begin();
  current_ = chunk;
  at_ = chunk->begin();
  end_ = at_ + chunk->bytes;
}

void* Arena::allocate_slow(size_t bytes, size_t align) {
  if (bytes > std::numeric_limits<size_t>::max() / 2 - align) throw std::bad_alloc();
  const size_t needed = bytes + align - 1;
  // After a reset the following chunks are empty; one that is too small is passed over until the next reset.
  Chunk* last = current_;
  for (Chunk* chunk = current_ != nullptr ? current_->next : nullptr; chunk != nullptr; chunk = chunk->next) {
    last = chunk;
    if (chunk->bytes < needed) continue;
    enter(chunk);
    return allocate(bytes, align);
  }
  const size_t size = std::max(chunk_bytes_, needed);
  auto* const chunk = ::new (::operator new(sizeof(Chunk) + size)) Chunk{nullptr, size};
  (last != nullptr ? last->next : first_) = chunk;
  enter(chunk);
  return allocate(bytes, align);
}

void Arena::reset() {
  current_ = nullptr;
  used_before_ = at_ = end_ = 0;
  if (first_ != nullptr) enter(first_);
}

size_t Arena::used() const { return used_before_ + (current_ != nullptr ? at_ - current_->begin() : 0); }

size_t Arena::capacity() const {
  size_t total = 0;
  for (const Chunk* chunk = first_; chunk != nullptr; chunk = chunk->next) total += chunk->bytes;
  return total;
}

}  // namespace hone

// An object for each thread that does not tie the library to its threads.
#pragma once
#include <pthread.h>

namespace hone {

/// The calling thread's T: made at first use, destroyed when the thread ends, or, for the thread that unloads the
/// library or leaves main(), when static objects are. C++'s own thread_local with a destructor would keep an unloaded
/// library mapped until every thread that called it has ended. T is a type of one source file (in an unnamed
/// namespace).
template <class T>
class ThreadLocal {
 public:
  /// Null once static objects are being destroyed.
  static T* get() { return current ? current : make(); }
  /// Null if this thread has none yet.
  static T* existing() { return current; }

 private:
  struct Key {
    pthread_key_t id{};
    Key() {
      pthread_key_create(&id, [](void*) { drop(); });
    }
    ~Key() {
      gone = true;
      pthread_key_delete(id);
      drop();
    }
  };
  static T* make() {
    static const Key key;
    if (gone) return nullptr;
    current = new T;
    pthread_setspecific(key.id, current);
    return current;
  }
  static void drop() {
    T* const object = current;
    current = nullptr;
    delete object;
  }

  static inline constinit thread_local T* current = nullptr;
  static inline constinit bool gone = false;
};

}  // namespace hone

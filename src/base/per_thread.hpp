// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// One object for each thread. Even destructors of thread-local objects can use it.

#include <memory>

#include "base/thread_objects.hpp"

namespace flotilla::base {

/// One `T` for each thread, constructed at its first use and destroyed when the thread ends.
///
/// The destructors of thread-local objects run in the reverse order of construction, so a
/// destructor of the application can run after the destructors of the library, and can then call
/// the library. A `thread_local` object of the library would already be destroyed. With this class,
/// such a call constructs another `T`, which is destroyed after the application's destructor.
template <class T>
class per_thread {
 public:
  /// Cost: a load and a branch after the first call. Throws std::bad_alloc, and whatever the
  /// constructor of `T` throws.
  [[nodiscard]] static T& get() {
    if (object_ == nullptr) [[unlikely]] { construct(); }
    return *object_;
  }
  /// The thread's object. Null before the first call of `get`, and after the object was destroyed.
  [[nodiscard]] static T* find() noexcept { return object_; }

 private:
  struct holder : thread_objects::node {
    T object{};
  };

  static void construct() {
    auto made = std::make_unique<holder>();
    made->destroy = [](thread_objects::node* self) noexcept {
      object_ = nullptr;
      delete static_cast<holder*>(self);
    };
    thread_objects::add(*made);
    object_ = &made.release()->object;
  }

  static inline thread_local constinit T* object_ = nullptr;
};

}  // namespace flotilla::base

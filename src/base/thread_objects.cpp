// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/thread_objects.hpp"

#include <cxxabi.h>

#include <new>

#include "base/process_end.hpp"

// The compiler declares it too, without "C", in a file with static objects before this line. So the
// name here is another one for the same symbol.
extern "C" __attribute__((visibility("hidden"))) void* flotilla_dso_handle __asm__("__dso_handle");

namespace flotilla::base {

void thread_objects::prepare() {
  if (is_prepared_) { return; }
  // The compiler generates the same call for a thread_local object.
  auto const at_end = [](void*) noexcept { destroy_all(); };
  if (abi::__cxa_thread_atexit(at_end, nullptr, &flotilla_dso_handle) != 0) {
    throw std::bad_alloc();
  }
  is_prepared_ = true;
}

void thread_objects::destroy_all() noexcept {
  // A destructor of the application that runs later may add objects. Then `add` registers again.
  is_prepared_ = false;
  while (newest_ != nullptr) {
    node* const last = newest_;
    newest_ = last->older;
    last->destroy(last);
  }
}

library_thread::library_thread() noexcept {
  thread_objects::is_prepared_ = true;
  never_yield_to_process_end(true);
}

library_thread::~library_thread() { thread_objects::destroy_all(); }

}  // namespace flotilla::base

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tells ASan and TSan about fibers. The functions do nothing in builds without sanitizers.

#if defined(__SANITIZE_ADDRESS__)
#define FLOTILLA_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define FLOTILLA_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FLOTILLA_ASAN 1
#elif __has_feature(thread_sanitizer)
#define FLOTILLA_TSAN 1
#endif
#endif

#if defined(FLOTILLA_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(FLOTILLA_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

#include "cpu_driver/kernel/fiber.hpp"

namespace flotilla::cpu_driver::sanitizer {

#if defined(FLOTILLA_ASAN)

inline void created(execution&) {}
inline void destroyed(execution&) {}
/// Unpoisons the redzones of the frames of a dropped fiber.
inline void stack_forgotten(void* bottom, std::size_t size) {
  __asan_unpoison_memory_region(bottom, size);
}
inline void adopted(execution&) {}
inline void before_switch(execution& from, execution& to) {
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_size);
}
/// Must be called after a switch from `from` to `self`. Stores the stack bounds of `from`, because
/// only this call returns the stack bounds of an OS thread.
inline void after_switch(execution& self, execution& from) {
  void const* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(self.fake_stack, &bottom, &size);
  from.stack_bottom = bottom;
  from.stack_size = size;
}

#elif defined(FLOTILLA_TSAN)

inline void created(execution& e) { e.tsan_fiber = __tsan_create_fiber(0); }
inline void destroyed(execution& e) {
  if (e.tsan_fiber != nullptr) { __tsan_destroy_fiber(e.tsan_fiber); }
}
inline void stack_forgotten(void*, std::size_t) {}
inline void adopted(execution& e) { e.tsan_fiber = __tsan_get_current_fiber(); }
inline void before_switch(execution&, execution& to) { __tsan_switch_to_fiber(to.tsan_fiber, 0); }
inline void after_switch(execution&, execution&) {}

#else

inline void created(execution&) {}
inline void destroyed(execution&) {}
inline void stack_forgotten(void*, std::size_t) {}
inline void adopted(execution&) {}
inline void before_switch(execution&, execution&) {}
inline void after_switch(execution&, execution&) {}

#endif

}  // namespace flotilla::cpu_driver::sanitizer

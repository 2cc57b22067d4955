// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tells ThreadSanitizer (TSan) how threads that share an exception are ordered. The C++ library
// counts the owners of an exception, and the last owner destroys it. The library is not
// instrumented, so that TSan sees no order between the other owners, which may have read the
// exception, and the destructor.
//
// This file replaces the functions of the C++ library with which an exception begins and with which
// an owner leaves it. It is part of every test program of a build with TSan, and it is compiled
// without TSan.

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <typeinfo>

namespace {

using destructor = void (*)(void* exception);

/// The replaced function of the C++ library.
template <class Function>
Function* original(char const* symbol) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, symbol));
}

/// The destructors of the exceptions that exist. A table of a fixed size, because TSan would report
/// races in memory that grows under a lock that it does not see.
class destructor_table {
 public:
  /// @return whether there was room.
  bool insert(void* exception, destructor with) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      place& each = at(exception, i);
      void* none = nullptr;
      if (each.exception.compare_exchange_strong(none, exception)) {
        each.with = with;
        return true;
      }
    }
    return false;
  }
  destructor remove(void* exception) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      place& each = at(exception, i);
      if (each.exception.load() == exception) {
        destructor const with = each.with;
        each.exception.store(nullptr);
        return with;
      }
    }
    return nullptr;
  }

 private:
  struct place {
    std::atomic<void*> exception;
    destructor with;
  };
  place& at(void* exception, std::size_t step) {
    return places_[(reinterpret_cast<std::uintptr_t>(exception) / 16 + step) % places_.size()];
  }
  std::array<place, 4096> places_{};
};

constinit destructor_table destructors;

/// The last owner runs it: all other owners have left the exception.
void destroy(void* exception) {
  __tsan_acquire(exception);
  if (destructor const with = destructors.remove(exception)) { with(exception); }
}

/// @return the destructor that `exception` gets instead of `with`.
destructor ordered(void* exception, destructor with) {
  return with != destroy && destructors.insert(exception, with) ? destroy : with;
}

}  // namespace

#pragma GCC visibility push(default)  // for calls from libraries
extern "C" {

[[noreturn]] void __cxa_throw(void* exception, std::type_info* type, destructor with) {
  using function = void(void*, std::type_info*, destructor);
  static auto* const throw_it = original<function>("__cxa_throw");
  throw_it(exception, type, ordered(exception, with));
  __builtin_unreachable();
}

/// std::make_exception_ptr calls it.
void* __cxa_init_primary_exception(void* exception, std::type_info* type,
                                   destructor with) noexcept {
  using function = void*(void*, std::type_info*, destructor);
  static auto* const initialize = original<function>("__cxa_init_primary_exception");
  return initialize(exception, type, ordered(exception, with));
}

/// std::exception_ptr::_M_release(). `owner` points to the only member, the exception's address.
void release_exception(void** owner) noexcept
    __asm__("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void release_exception(void** owner) noexcept {
  static auto* const release =
      original<void(void**)>("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
  if (*owner != nullptr) { __tsan_release(*owner); }
  release(owner);
}

/// A handler ends.
void __cxa_end_catch() {
  static auto* const end = original<void()>("__cxa_end_catch");
  // The destructor of the pointer that this call returns calls release_exception().
  static_cast<void>(std::current_exception());
  end();
}

}  // extern "C"
#pragma GCC visibility pop

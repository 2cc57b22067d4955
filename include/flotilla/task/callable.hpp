// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Callables as tasks.

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>

struct CUstream_st;
struct CUctx_st;

namespace flotilla {
inline namespace v0_1 {

class task_context;

namespace detail {
[[noreturn]] FLOTILLA_EXPORT void refuse_stream(task_context const& of);
}

/// The device, context and stream for one call of a callable. Valid until the callable returns.
///
/// The context of an isolated device is in another process, so no code of this process can use it
/// or its streams. On such a device `context` and `stream` throw invalid_argument, and a callable
/// can only do work of the host.
class task_context {
 public:
  task_context(flotilla::device const& device, CUctx_st* context, CUstream_st* stream) noexcept
      : device_{&device}, context_{context}, stream_{stream} {}
  task_context(task_context const&) = delete;
  task_context& operator=(task_context const&) = delete;

  [[nodiscard]] flotilla::device const& device() const noexcept { return *device_; }
  /// Returns whether the callable has a context and a stream: whether the device is not isolated.
  [[nodiscard]] bool has_stream() const noexcept { return stream_ != nullptr; }
  /// Returns the device's context, which is current on this thread. The same context must be
  /// current when the callable returns.
  /// @throws invalid_argument  The device is isolated.
  [[nodiscard]] CUctx_st* context() const {
    if (context_ == nullptr) [[unlikely]] { detail::refuse_stream(*this); }
    return context_;
  }
  /// Returns a stream of the context. No other task uses the stream during the call. The task ends
  /// when all work in this stream has completed. The runtime does not wait for work in other
  /// streams. The stream waits for the tasks in `after`, but the callable itself may run before
  /// these tasks have ended. So what the callable itself reads must not be what these tasks write:
  /// use a host_task for that. `FLOTILLA_CHECK=order` reports callables that never ask for their
  /// stream although such a task still runs.
  /// @throws invalid_argument  The device is isolated.
  [[nodiscard]] CUstream_st* stream() const {
    if (stream_ == nullptr) [[unlikely]] { detail::refuse_stream(*this); }
    was_stream_asked_ = true;
    return stream_;
  }

 private:
  // For the library.
  friend bool was_stream_asked(task_context const& of) noexcept { return of.was_stream_asked_; }

  flotilla::device const* device_;
  CUctx_st* context_;    // null if the device is isolated
  CUstream_st* stream_;  // the same
  mutable bool was_stream_asked_ = false;
};

/// Owns a callable of type `void(task_context&)`. Movable. A callable of up to 64 bytes whose move
/// constructor cannot throw is stored inline. For any other callable, memory is allocated.
///
/// The callable may throw, but an exception that leaves its destructor ends the process. The
/// callable must return or throw. `pthread_exit` inside a callable ends the process, and
/// `pthread_cancel` is unsupported for any thread that is inside a function of flotilla.
class callable {
 public:
  static constexpr std::size_t inline_bytes = 64;

  callable() noexcept = default;

  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, callable> &&
           std::invocable<std::decay_t<F>&, task_context&>)
      callable(F&& function) {  // implicit, so that lambdas can be passed to submit
    using held = std::decay_t<F>;
    if constexpr (requires { static_cast<bool>(function == nullptr); }) {
      // An empty std::function or a null pointer makes an empty callable.
      if (function == nullptr) { return; }
    }
    if constexpr (sizeof(held) <= inline_bytes && alignof(held) <= alignof(std::max_align_t) &&
                  std::is_nothrow_move_constructible_v<held>) {
      ::new (static_cast<void*>(storage_)) held(std::forward<F>(function));
      methods_ = &inline_methods<held>;
    } else {
      auto* const made = new held(std::forward<F>(function));
      ::new (static_cast<void*>(storage_)) held*(made);
      methods_ = &heap_methods<held>;
    }
  }
  callable(callable&& other) noexcept { take(other); }
  callable& operator=(callable&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~callable() { reset(); }

  explicit operator bool() const noexcept { return methods_ != nullptr; }
  void operator()(task_context& context) { methods_->call(storage_, context); }
  void reset() noexcept {
    if (methods_ != nullptr) { std::exchange(methods_, nullptr)->destroy(storage_); }
  }

 private:
  struct methods {
    void (*call)(void*, task_context&);
    void (*move)(void* from, void* to) noexcept;  // also destroys `from`
    void (*destroy)(void*) noexcept;
  };
  template <class T>
  static T& in(void* storage) noexcept {
    return *std::launder(static_cast<T*>(storage));
  }

  template <class T>
  static constexpr methods inline_methods{[](void* s, task_context& c) { in<T>(s)(c); },
                                          [](void* from, void* to) noexcept {
                                            ::new (to) T(std::move(in<T>(from)));
                                            in<T>(from).~T();
                                          },
                                          [](void* s) noexcept { in<T>(s).~T(); }};
  template <class T>
  static constexpr methods heap_methods{
      [](void* s, task_context& c) { (*in<T*>(s))(c); },
      [](void* from, void* to) noexcept { ::new (to) T*(in<T*>(from)); },
      [](void* s) noexcept { delete in<T*>(s); }};

  void take(callable& other) noexcept {
    methods_ = std::exchange(other.methods_, nullptr);
    if (methods_ != nullptr) { methods_->move(other.storage_, storage_); }
  }

  methods const* methods_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[inline_bytes];
};

}  // namespace v0_1
}  // namespace flotilla

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lease: the exclusive right to drive one device. The current scope: a block in which the
// context of the device is current. A lease can move between threads. A scope belongs to one thread
// and one block.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "context/context_handle.hpp"

namespace flotilla::context {

namespace detail {
inline thread_local constinit std::uint64_t thread_token = 0;
[[nodiscard]] std::uint64_t new_thread_token() noexcept;
}  // namespace detail

/// Returns the token of the calling thread. Tokens are numbers from 1 on and are never reused.
/// Cost: one thread-local load.
[[nodiscard]] inline std::uint64_t this_thread_token() noexcept {
  if (detail::thread_token == 0) { detail::thread_token = detail::new_thread_token(); }
  return detail::thread_token;
}

class lease;

/// Grants the lease of one context to one thread at a time.
///
/// A thread must not sleep in `take` while the lease is free. Therefore a thread in `take` first
/// increments `takers_` and then tries to set `holder_`. `give_back` first clears `holder_` and
/// then reads `takers_`. All four operations are seq_cst, so at least one of the two threads sees
/// the write of the other thread (tests/unit/context/lease_model_test.cpp).
class lease_gate {
 public:
  /// The constructor of `lease` requires this key, which only lease_gate can make. So every lease
  /// comes from a successful claim(). The key is an empty class and costs nothing.
  class claim_key {
    friend class lease_gate;
    explicit claim_key() = default;
  };

  explicit lease_gate(context_handle& context) noexcept : context_(context) {}
  lease_gate(lease_gate const&) = delete;
  lease_gate& operator=(lease_gate const&) = delete;

  /// Takes the lease if it is free and no thread waits in `take`. Never blocks.
  [[nodiscard]] std::optional<lease> try_take() noexcept;
  /// Waits until no other thread holds the lease, and takes the lease. Every holder must check
  /// `wanted` after each batch, and give the lease back if `wanted` is true. The calling thread
  /// must not hold another lease: two threads that wait for each other's lease deadlock.
  [[nodiscard]] lease take();
  /// Does the same as `take`, but stops waiting at the time `when` and then returns nothing.
  [[nodiscard]] std::optional<lease> take_until(std::chrono::steady_clock::time_point when);

  /// Whether a thread waits in `take`. Cost: one load.
  [[nodiscard]] bool wanted() const noexcept {
    // relaxed: the result is only a hint. give_back() reads `takers_` with seq_cst.
    return takers_.load(std::memory_order_relaxed) != 0;
  }
  [[nodiscard]] bool held() const noexcept { return holder_.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] bool held_by_this_thread() const noexcept {
    // relaxed: no other thread stores the token of this thread
    return holder_.load(std::memory_order_relaxed) == this_thread_token();
  }

  [[nodiscard]] context_handle& context() const noexcept { return context_; }
  /// The number of times that the lease went to a thread other than the previous holder.
  [[nodiscard]] std::uint64_t migrations() const noexcept {
    return migrations_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t pushes() const noexcept {
    return pushes_.load(std::memory_order_relaxed);
  }
  /// CUDA_SUCCESS while the context can be used, then the error that made the context unusable. The
  /// value never returns to CUDA_SUCCESS.
  [[nodiscard]] CUresult retired() const noexcept {
    return retired_.load(std::memory_order_relaxed);
  }

 private:
  friend class lease;          // calls give_back
  friend class current_scope;  // updates pushes_ and retired_

  [[nodiscard]] bool claim() noexcept;
  void give_back() noexcept;

  context_handle& context_;
  std::atomic<std::uint64_t> holder_{0};  // token of the holder; 0 if the lease is free
  std::atomic<int> takers_{0};            // number of threads in take or take_until
  std::atomic<std::uint64_t> migrations_{0};
  std::atomic<std::uint64_t> pushes_{0};
  std::atomic<CUresult> retired_{CUDA_SUCCESS};
  std::uint64_t last_holder_ = 0;  // accessed only by the holder
  std::mutex mutex_;               // the mutex of given_
  std::condition_variable given_;
};

/// The exclusive right to drive one device. The destructor gives the lease back.
class [[nodiscard]] lease {
 public:
  lease(lease_gate& gate, lease_gate::claim_key) noexcept : gate_(&gate) {}
  lease(lease&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
  lease& operator=(lease&&) = delete;
  ~lease() {
    if (gate_ != nullptr) { gate_->give_back(); }
  }
  [[nodiscard]] context_handle& context() const noexcept { return gate_->context(); }
  [[nodiscard]] lease_gate& gate() const noexcept { return *gate_; }
  [[nodiscard]] bool wanted() const noexcept { return gate_->wanted(); }

 private:
  lease_gate* gate_;  // null if this lease was moved from
};

/// Makes a leased context current on the calling thread until the end of the block. Scopes can be
/// nested and must end in reverse order. The owner of the lease must not move the lease or give it
/// back before the scope ends.
class [[nodiscard]] current_scope {
 public:
  /// Pushes the context. @throws driver_error  The context was not pushed.
  explicit current_scope(lease& of) : current_scope(of.gate()) {}
  /// Pushes the context, for a caller that has no access to the lease object. The calling thread
  /// must hold the lease.
  /// @throws driver_error  The context was not pushed.
  explicit current_scope(lease_gate& held);
  /// Pops the top of this thread's stack, which must be the context that the constructor pushed. If
  /// the top is a different context, other code has changed the stack, and the state of the stack
  /// is unknown. In this case the destructor retires the context: no later scope makes the context
  /// current.
  ~current_scope();
  current_scope(current_scope&&) = delete;

 private:
  lease_gate& gate_;
};

static_assert(std::is_nothrow_destructible_v<current_scope>);
static_assert(!std::is_move_constructible_v<current_scope> &&
              !std::is_copy_constructible_v<current_scope>);
static_assert(std::is_nothrow_move_constructible_v<lease> && !std::is_copy_constructible_v<lease>);

}  // namespace flotilla::context

#pragma once
// The exclusive right to drive one device (lease), and having its context current (current_scope).
// A lease is owned and can move between threads; a scope belongs to one thread and one block.

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

/// A number for the calling thread, from 1. It is never reused. Cost: a thread-local load.
[[nodiscard]] inline std::uint64_t this_thread_token() noexcept {
  if (detail::thread_token == 0) { detail::thread_token = detail::new_thread_token(); }
  return detail::thread_token;
}

class lease;

/// Hands out the lease of one context. At most one lease exists at any time.
///
/// The handshake between `give_back` and `take`: a taker first increments `takers_` and then tries to
/// set `holder_`; the holder first clears `holder_` and then reads `takers_`. All four operations are
/// seq_cst, so at least one side sees the other, and no taker sleeps while the lease is free
/// (tests/unit/context/lease_model_test.cpp).
class lease_gate {
 public:
  /// Proof that the calling thread has claimed the gate. Only the gate can make one, so nobody else
  /// can make a lease. It is empty and costs nothing.
  class claim_key {
    friend class lease_gate;
    explicit claim_key() = default;
  };

  explicit lease_gate(context_handle& context) noexcept : context_(context) {}
  lease_gate(lease_gate const&) = delete;
  lease_gate& operator=(lease_gate const&) = delete;

  /// Takes the lease if it is free and no thread waits in `take`. Never blocks.
  [[nodiscard]] std::optional<lease> try_take() noexcept;
  /// Waits until the holder gives the lease back; holders check `wanted` after every batch.
  /// The caller must not hold a lease: two threads that each wait for the other's lease deadlock.
  [[nodiscard]] lease take();
  /// Like `take`, but gives up at `when` and then returns nothing.
  [[nodiscard]] std::optional<lease> take_until(std::chrono::steady_clock::time_point when);

  /// Whether a thread waits in `take`. Cost: one load.
  [[nodiscard]] bool wanted() const noexcept {
    return takers_.load(std::memory_order_relaxed) !=
           0;  // relaxed: a hint; give_back reads it again
  }
  [[nodiscard]] bool held() const noexcept { return holder_.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] bool held_by_this_thread() const noexcept {
    // relaxed: only this thread writes this thread's token
    return holder_.load(std::memory_order_relaxed) == this_thread_token();
  }

  [[nodiscard]] context_handle& context() const noexcept { return context_; }
  /// How often the lease went to another thread than the previous holder.
  [[nodiscard]] std::uint64_t migrations() const noexcept {
    return migrations_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t pushes() const noexcept {
    return pushes_.load(std::memory_order_relaxed);
  }
  /// Why the context can no longer be used, or CUDA_SUCCESS. It never changes back.
  [[nodiscard]] CUresult retired() const noexcept {
    return retired_.load(std::memory_order_relaxed);
  }

 private:
  friend class lease;          // gives back
  friend class current_scope;  // counts pushes, retires the context

  [[nodiscard]] bool claim() noexcept;
  void give_back() noexcept;

  context_handle& context_;
  std::atomic<std::uint64_t> holder_{
      0};                       // token of the holder, 0: free; takers and the holder write
  std::atomic<int> takers_{0};  // threads inside take write
  std::atomic<std::uint64_t> migrations_{0};
  std::atomic<std::uint64_t> pushes_{0};
  std::atomic<CUresult> retired_{CUDA_SUCCESS};
  std::uint64_t last_holder_ = 0;  // only the holder reads and writes
  std::mutex mutex_;               // takers sleep on given_ with it
  std::condition_variable given_;
};

/// The exclusive right to drive one device. Gives itself back at its end.
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
  lease_gate* gate_;  // null after a move
};

/// Makes a leased context current on the calling thread until the end of the block. Scopes nest and
/// close in reverse order. The lease must not be moved or given back before the scope ends.
class [[nodiscard]] current_scope {
 public:
  /// Pushes the context. @throws driver_error  Nothing was pushed.
  explicit current_scope(lease& of) : current_scope(of.gate()) {}
  /// For a caller that cannot reach the lease object but knows that this thread holds the lease.
  explicit current_scope(lease_gate& held);
  /// Pops and checks the popped context. If it is not ours, other code has popped on this thread and
  /// the state of its stack is unknown: the context is retired and never made current again.
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

#pragma once
// The exclusive right to drive one device, and being in its context: two types. The lease is owned and
// movable; a scope belongs to a thread and a block.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "context/floating_context.hpp"

namespace flotilla::context {

namespace detail {
inline thread_local constinit std::uint64_t thread_token = 0;
[[nodiscard]] std::uint64_t new_thread_token() noexcept;
}  // namespace detail

/// A number for the calling thread, from 1, never used again. Cost: a thread-local load.
[[nodiscard]] inline std::uint64_t this_thread_token() noexcept {
  if (detail::thread_token == 0) { detail::thread_token = detail::new_thread_token(); }
  return detail::thread_token;
}

class lease;

/// Where the lease of one context is kept. At most one lease is out at any time.
///
/// The handshake between `give_back` and `take`: a taker counts itself in `takers_` and then tries `holder_`;
/// who gives back clears `holder_` and then looks at `takers_`. All four are seq_cst, so one of the two
/// sees the other: no taker sleeps on a free lease (tests/unit/context/lease_model_test.cpp).
class lease_gate {
 public:
  explicit lease_gate(floating_context& context) noexcept : context_(context) {}
  lease_gate(lease_gate const&) = delete;
  lease_gate& operator=(lease_gate const&) = delete;

  /// The lease, if nobody has it and nobody waits for it. Never blocks.
  [[nodiscard]] std::optional<lease> try_take() noexcept;
  /// The lease, as soon as its holder gives it back: holders look at `wanted` after every batch.
  /// The caller must not hold a lease: two who hold one each and wait for the other's would wait for ever.
  [[nodiscard]] lease take();
  /// The same until `when`.
  [[nodiscard]] std::optional<lease> take_until(std::chrono::steady_clock::time_point when);

  /// Whether somebody waits in `take`. Cost: one load.
  [[nodiscard]] bool wanted() const noexcept {
    return takers_.load(std::memory_order_relaxed) != 0;  // a hint: give_back looks again
  }
  [[nodiscard]] bool held() const noexcept { return holder_.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] bool held_by_this_thread() const noexcept {
    // relaxed: only this thread ever writes this thread's token
    return holder_.load(std::memory_order_relaxed) == this_thread_token();
  }

  /// Times the lease was taken by another thread than the time before.
  [[nodiscard]] std::uint64_t migrations() const noexcept { return migrations_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t pushes() const noexcept { return pushes_.load(std::memory_order_relaxed); }
  /// What made the context unusable, or CUDA_SUCCESS. Final.
  [[nodiscard]] CUresult retired() const noexcept { return retired_.load(std::memory_order_relaxed); }

 private:
  friend class lease;
  friend class current_scope;

  [[nodiscard]] bool claim() noexcept;
  void give_back() noexcept;

  floating_context& context_;
  std::atomic<std::uint64_t> holder_{0};  // written by whoever takes and gives back
  std::atomic<int> takers_{0};            // written by threads inside take
  std::atomic<std::uint64_t> migrations_{0};
  std::atomic<std::uint64_t> pushes_{0};
  std::atomic<CUresult> retired_{CUDA_SUCCESS};
  std::uint64_t last_holder_ = 0;  // only the holder
  std::mutex mutex_;               // with given_: where takers sleep
  std::condition_variable given_;
};

class [[nodiscard]] lease {
 public:
  lease(lease&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
  lease& operator=(lease&&) = delete;
  ~lease() {
    if (gate_ != nullptr) { gate_->give_back(); }
  }
  [[nodiscard]] floating_context& context() const noexcept { return gate_->context_; }
  [[nodiscard]] lease_gate& gate() const noexcept { return *gate_; }
  [[nodiscard]] bool wanted() const noexcept { return gate_->wanted(); }

 private:
  friend class lease_gate;
  explicit lease(lease_gate& gate) noexcept : gate_(&gate) {}
  lease_gate* gate_;
};

/// Makes a leased context current on the calling thread until the end of the block. Scopes nest and
/// close in reverse order. The lease must stay where it is meanwhile.
class [[nodiscard]] current_scope {
 public:
  /// Pushes. @throws driver_error, then nothing is pushed.
  explicit current_scope(lease& of) : current_scope(of.gate()) {}
  /// The same for code deeper down, which knows that this thread has the lease but not where it is kept.
  explicit current_scope(lease_gate& held);
  /// Pops, and compares what was popped: after a foreign pop this thread's stack is no longer ours to
  /// judge, and the context is never handed out again.
  ~current_scope();
  current_scope(current_scope&&) = delete;

 private:
  lease_gate& gate_;
};

static_assert(std::is_nothrow_destructible_v<current_scope>);
static_assert(!std::is_move_constructible_v<current_scope> && !std::is_copy_constructible_v<current_scope>);
static_assert(std::is_nothrow_move_constructible_v<lease> && !std::is_copy_constructible_v<lease>);

}  // namespace flotilla::context

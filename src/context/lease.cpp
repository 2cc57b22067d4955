// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/lease.hpp"

#include "base/log.hpp"
#include "driver/check.hpp"

namespace flotilla::context {

std::uint64_t detail::new_thread_token() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: only uniqueness matters
}

bool lease_gate::claim() noexcept {
  std::uint64_t nobody = 0;
  if (!holder_.compare_exchange_strong(nobody, this_thread_token(), std::memory_order_seq_cst)) {
    return false;
  }
  // Only the holder writes `migrations_`, so no atomic read-modify-write is needed.
  std::uint64_t const before = std::exchange(last_holder_, this_thread_token());
  if (before != 0 && before != this_thread_token()) {
    migrations_.store(migrations_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  return true;
}

std::optional<lease> lease_gate::try_take() noexcept {
  // A thread that waits in `take` goes first. Otherwise a busy thread could retake the lease again
  // and again, and the waiting thread would starve.
  if (wanted() || held() || !claim()) { return std::nullopt; }
  return lease{*this, claim_key{}};
}

lease lease_gate::take() {
  takers_.fetch_add(1, std::memory_order_seq_cst);
  std::unique_lock lock{mutex_};
  given_.wait(lock, [this] { return claim(); });
  takers_.fetch_sub(1, std::memory_order_seq_cst);
  return lease{*this, claim_key{}};
}

std::optional<lease> lease_gate::take_until(std::chrono::steady_clock::time_point when) {
  takers_.fetch_add(1, std::memory_order_seq_cst);
  std::unique_lock lock{mutex_};
  bool const got = given_.wait_until(lock, when, [this] { return claim(); });
  takers_.fetch_sub(1, std::memory_order_seq_cst);
  if (!got) { return std::nullopt; }
  return lease{*this, claim_key{}};
}

void lease_gate::give_back() noexcept {
  holder_.store(0, std::memory_order_seq_cst);
  if (takers_.load(std::memory_order_seq_cst) == 0) { return; }
  // A thread in `take` holds the mutex from its last failed `claim` until the thread sleeps.
  // Locking the mutex here delays the notification until the thread sleeps. An earlier notification
  // would be lost.
  { std::lock_guard const lock{mutex_}; }
  given_.notify_one();
}

current_scope::current_scope(lease_gate& held) : gate_(held) {
  context_handle const& context = gate_.context();
  if (CUresult const why = gate_.retired(); why != CUDA_SUCCESS) {
    throw driver_error(driver::status_of(why), "an earlier cuCtxPopCurrent", context.subject());
  }
  driver::check(context.api().ctx_push_current(context.handle()), "cuCtxPushCurrent",
                context.subject());
  gate_.pushes_.store(gate_.pushes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

current_scope::~current_scope() {
  context_handle const& context = gate_.context();
  CUcontext popped = nullptr;
  CUresult const answer = context.api().ctx_pop_current(&popped);
  if ((answer == CUDA_SUCCESS && popped == context.handle()) ||
      answer == CUDA_ERROR_DEINITIALIZED) {
    return;
  }
  CUresult const why = answer == CUDA_SUCCESS ? CUDA_ERROR_INVALID_CONTEXT : answer;
  gate_.retired_.store(why, std::memory_order_relaxed);
  base::log_format(log_level::error,
                   "cuCtxPopCurrent did not return the context of %s: %s; the device can no "
                   "longer be used",
                   context.subject().c_str(), to_string(driver::status_of(why)).c_str());
}

}  // namespace flotilla::context

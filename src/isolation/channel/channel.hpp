// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// One channel: a piece of shared memory in which one thread of the owner calls one thread of the
// worker. Every word has one writer, and nothing in the memory is a lock, so a process that ends in
// any state leaves nothing locked.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace flotilla::isolated {

inline constexpr std::size_t max_request_bytes = std::size_t{64} << 10;
inline constexpr std::size_t max_answer_bytes = std::size_t{16} << 10;
inline constexpr std::size_t channels_per_worker = 32;

/// The layout in memory. The mapping is all zeros at first.
struct channel {
  // Written by the owner:
  alignas(64) std::atomic<std::uint32_t> requested;  // the number of the last request
  std::atomic<std::uint32_t> owner_sleeps;           // 1 while the owner sleeps on `answered`
  std::uint32_t request_bytes;
  // Written by the worker:
  alignas(64) std::atomic<std::uint32_t> answered;  // the number of the last answered request
  std::atomic<std::uint32_t> worker_sleeps;         // 1 while the worker sleeps on `requested`
  std::int32_t status;                              // the CUresult of the answer
  std::uint32_t answer_bytes;
  alignas(64) std::byte request[max_request_bytes];  // written by the owner
  std::byte answer[max_answer_bytes];                // written by the worker
};

/// All channels of a worker, and the words that both processes share beside them.
struct channel_block {
  channel channels[channels_per_worker];
};

/// The owner's end. One thread at a time.
class channel_caller {
 public:
  using clock = std::chrono::steady_clock;
  explicit channel_caller(channel& on) noexcept
      : on_(&on), last_(on.requested.load(std::memory_order_relaxed)) {}

  /// The room for the bytes of the next request.
  [[nodiscard]] std::span<std::byte> room() const noexcept { return on_->request; }
  /// Sends the request in `room` and waits for the answer. Copies the answer to `into`: the worker
  /// may change its memory at any time, so nobody may read it twice.
  /// @param lost    Becomes true if the worker has ended; then somebody wakes the channel.
  /// @param status  The driver's status. Whatever the worker has written, so check it.
  /// @param used    The number of bytes in `into`.
  /// @param until   Gives up then.
  /// @return false  The worker is lost, its answer does not fit, or there was none in time.
  [[nodiscard]] bool call(std::size_t bytes, std::atomic<int> const& lost,
                          std::span<std::byte> into, std::int32_t& status, std::size_t& used,
                          clock::time_point until = clock::time_point::max()) noexcept;

 private:
  channel* on_;
  std::uint32_t last_;
};

/// The worker's end. One thread.
class channel_server {
 public:
  explicit channel_server(channel& on) noexcept : on_(&on) {}

  /// Waits for the next request. Never gives up: the process ends when its owner ends.
  [[nodiscard]] std::span<std::byte const> wait() noexcept;
  [[nodiscard]] std::span<std::byte> room() const noexcept { return on_->answer; }
  void answer(std::int32_t status, std::size_t bytes) noexcept;

 private:
  channel* on_;
  std::uint32_t last_ = 0;
};

}  // namespace flotilla::isolated

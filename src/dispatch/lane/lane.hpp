#pragma once
// A stream of one device, and the counter of its completed batches.

#include <cuda.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/lane/completion_page.hpp"
#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

class graph_template;

/// A stream and the batches in flight on it. Only the holder of the device's lease calls what is
/// not const.
///
/// A batch is begun, its work is put into the stream, and the batch is committed: either the stream
/// is told to write the batch's number, or the work itself ends with that write. Work that writes
/// several numbers is several batches, begun and committed together.
class lane {
 public:
  static constexpr std::uint32_t max_tasks = 64;  // in a batch
  static constexpr std::size_t max_batches = 48;  // in flight

  struct batch {
    std::uint64_t number = 0;
    std::chrono::steady_clock::time_point begun;
    // Set in the last batch that the template carries. Null: launched directly.
    graph_template* carrier = nullptr;
    std::uint32_t count = 0;       // tasks
    bool waits_on_device = false;  // it begins with a kernel that waits for another device
    bool long_running = false;     // a kernel of it is not short, or nobody has measured it
    std::array<slot_address, max_tasks> tasks;
  };

  /// Closed: without a stream.
  lane(context::context_handle const& context, completion_page& page, unsigned index);
  lane(lane const&) = delete;
  lane& operator=(lane const&) = delete;
  /// Creates the stream unless it exists. With the context current.
  /// @param priority  As CUDA counts: lower is more urgent.
  [[nodiscard]] CUresult open(int priority);
  /// Destroys the stream. With a usable driver.
  void destroy() noexcept;

  [[nodiscard]] CUstream stream() const noexcept { return stream_; }
  [[nodiscard]] unsigned index() const noexcept { return index_; }
  [[nodiscard]] CUdeviceptr counter() const noexcept { return page_.device_address(index_); }

  /// Whether `batches` more may begin.
  [[nodiscard]] bool has_room(std::size_t batches = 1) const noexcept {
    return open_ + batches <= max_batches;
  }
  [[nodiscard]] std::size_t in_flight() const noexcept { return open_; }

  /// Begins a batch and gives it its number. There must be room.
  [[nodiscard]] batch& begin();
  /// Withdraws the batches that were begun and not committed. Nothing of them is in the stream.
  void cancel() noexcept;
  /// Commits the batches that were begun. They are in the stream and write their numbers
  /// themselves.
  void commit() noexcept;
  /// Commits the batches that were begun, and tells the stream to write the last number after them.
  /// @return the driver's answer; if it is not CUDA_SUCCESS, `query` finds out when the work is
  /// done.
  CUresult commit_with_write();

  /// The oldest batch if it is done, else null. `drop` removes it.
  [[nodiscard]] batch* done() noexcept;
  void drop() noexcept;
  /// If the device could not be told to write a number, asks the stream whether it is done.
  /// Threads: any.
  void query() noexcept;
  /// When the last batch was seen to end.
  [[nodiscard]] std::chrono::steady_clock::time_point last_end() const noexcept {
    return last_end_;
  }
  void set_last_end(std::chrono::steady_clock::time_point when) noexcept { last_end_ = when; }

 private:
  context::context_handle const& context_;
  completion_page& page_;
  unsigned const index_;
  CUstream stream_ = nullptr;
  std::uint64_t last_number_;                       // committed
  std::atomic<std::uint64_t> unwritten_number_{0};  // committed without a write: see `query`
  std::size_t begun_ = 0;                           // the youngest batches, not committed yet
  std::size_t first_ = 0;                           // the oldest batch in ring_
  std::size_t open_ = 0;     // batches in ring_, those not committed included
  std::vector<batch> ring_;  // empty while the lane is closed: most urgent lanes are never used
  std::chrono::steady_clock::time_point last_end_{};
};

}  // namespace flotilla::dispatch

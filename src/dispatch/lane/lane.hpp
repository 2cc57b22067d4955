#pragma once
// A stream of one device and the counter that says how far it is.

#include <cuda.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "context/floating_context.hpp"
#include "dispatch/mapped_memory.hpp"
#include "dispatch/slot.hpp"

namespace flotilla::dispatch {

/// Mapped memory with a 64-bit counter per lane of a device, a line each, written by the device and read
/// by whoever waits; by tickets also when the context is gone.
class completion_page {
 public:
  /// With the context current. @throws driver_error
  completion_page(context::floating_context const& context, unsigned lanes);
  completion_page(completion_page const&) = delete;
  completion_page& operator=(completion_page const&) = delete;
  /// With the context current, when no lane is left. The numbers stay.
  void unregister() noexcept { memory_.unregister(); }
  /// All counters begin here: 0, but for tests of what happens when 32 bits are full.
  static inline std::uint64_t first_number = 0;

  /// How far lane `lane` is: every number up to this one is done, and what was done is seen.
  [[nodiscard]] std::uint64_t number(unsigned lane) const noexcept {
    return std::atomic_ref<std::uint64_t>{numbers_[lane * stride]}.load(std::memory_order_acquire);
  }
  /// The host's own hand, where the device could not be asked to write.
  void raise(unsigned lane, std::uint64_t number) noexcept {
    std::atomic_ref<std::uint64_t> const counter{numbers_[lane * stride]};
    std::uint64_t seen = counter.load(std::memory_order_relaxed);
    while (seen < number && !counter.compare_exchange_weak(seen, number, std::memory_order_release)) {}
  }
  [[nodiscard]] CUdeviceptr device_address(unsigned lane) const noexcept {
    return memory_.device() + lane * stride * sizeof(std::uint64_t);
  }
  /// A word that devices read and that is 0 until this: nothing of this runtime goes on. Any thread.
  void stop() noexcept { std::atomic_ref<std::uint64_t>{numbers_[lanes_ * stride]}.store(1, std::memory_order_release); }
  [[nodiscard]] CUdeviceptr stopped_address() const noexcept { return device_address(lanes_); }

 private:
  static constexpr std::size_t stride = 8;  // a line
  unsigned const lanes_;
  mapped_memory memory_;
  std::uint64_t* numbers_;
};

class graph_template;

/// A stream, and the batches that are in flight on it. Only the holder of the device's lease calls what is not
/// const. A batch is begun, its work is put into the stream, and then it is finished: either the stream
/// is told to write the batch's number, or what was put there ends with that write already. What writes several numbers
/// on its way is as many batches, begun and finished together.
class lane {
 public:
  static constexpr std::uint32_t most_tasks = 64;  // of a batch
  static constexpr std::size_t most_batches = 48;  // in flight

  struct batch {
    std::uint64_t number = 0;
    std::chrono::steady_clock::time_point begun;
    graph_template* by = nullptr;      // what carries it, when this is the last of that; null: it went plainly
    std::uint32_t count = 0;
    bool awaits = false;               // it begins with a kernel that waits for another device
    bool lasting = false;              // of kernels that are not short, or that nobody has seen run
    std::array<slot_address, most_tasks> tasks;
  };
  /// Closed: without a stream.
  lane(context::floating_context const& context, completion_page& page, unsigned index);
  lane(lane const&) = delete;
  lane& operator=(lane const&) = delete;
  /// Makes the stream, unless there is one: of that priority, as CUDA counts. With the context current.
  [[nodiscard]] CUresult open(int priority);
  void destroy() noexcept;  // the stream; with a usable driver

  [[nodiscard]] CUstream stream() const noexcept { return stream_; }
  [[nodiscard]] unsigned index() const noexcept { return index_; }

  /// Whether `batches` more may begin.
  [[nodiscard]] bool room(std::size_t batches = 1) const noexcept { return open_ + batches <= most_batches; }
  [[nodiscard]] std::size_t in_flight() const noexcept { return open_; }
  /// A new batch; its number is already what it will be. There must be room.
  [[nodiscard]] batch& begin();
  /// Takes back what was begun and is not finished: nothing of it is in the stream.
  void cancel() noexcept;
  /// The batch is in the stream: its number will be seen when all before it in the stream is done.
  /// @return the driver's answer; other than CUDA_SUCCESS, the number comes by asking the stream.
  CUresult finish();
  /// The same where what was begun writes its numbers itself.
  void finish_itself() noexcept;
  [[nodiscard]] CUdeviceptr counter() const noexcept { return page_.device_address(index_); }

  /// The oldest batch if it is done, else null; `drop` takes it away.
  [[nodiscard]] batch* done() noexcept;
  /// Any thread: where the device could not be told to write a number, looks whether the stream is done.
  void ask() noexcept;
  void drop() noexcept;
  /// When the batch before ended, as far as it was noticed.
  [[nodiscard]] std::chrono::steady_clock::time_point last_end() const noexcept { return last_end_; }
  void set_last_end(std::chrono::steady_clock::time_point when) noexcept { last_end_ = when; }

 private:
  context::floating_context const& context_;
  completion_page& page_;
  unsigned index_;
  CUstream stream_ = nullptr;
  std::uint64_t last_number_;
  std::atomic<std::uint64_t> asked_number_{0};  // finished without a write: to be asked for
  std::size_t begun_ = 0;                       // the youngest batches, not finished yet
  std::size_t first_ = 0;
  std::size_t open_ = 0;  // batches in the ring, an unfinished one included
  std::vector<batch> ring_;  // empty while the lane is closed: most lanes of urgent tasks are never used
  std::chrono::steady_clock::time_point last_end_{};
};

}  // namespace flotilla::dispatch

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// One worker process, as its owner sees it.

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include <flotilla/device/device.hpp>

#include "isolation/channel/channel.hpp"
#include "isolation/channel/sealed_memory.hpp"
#include "isolation/protocol/control_message.hpp"

namespace flotilla::isolated {

/// Threads: any, unless a comment says otherwise.
class worker_process {
 public:
  /// Starts the program. Call it on a thread that lives as long as this process: the worker ends
  /// when the thread ends that has started it. @throws driver_error, naming the
  /// call that the system refuses
  worker_process(std::string const& program, int host_memory);
  worker_process(worker_process const&) = delete;
  worker_process& operator=(worker_process const&) = delete;
  ~worker_process();  // kills the process if it has not ended

  // How long a worker may take for one step before it serves a device. cuInit takes up to 10 s on a
  // machine with many GPUs. A worker that serves a device has no limit, as a driver call has none:
  // to free memory, for example, it waits for running kernels.
  static constexpr std::chrono::milliseconds start_limit{30000};
  static constexpr std::chrono::milliseconds no_limit = std::chrono::milliseconds::max();

  /// Sends a message and waits for its answer. A lost worker answers with its status. A worker that
  /// does not answer within the limit is lost.
  [[nodiscard]] control_answer ask(control_message const& what, int passed = -1,
                                   std::chrono::milliseconds limit = no_limit);

  /// Takes a channel for the calling thread, or the shared one if none is free. If the worker
  /// cannot serve it, the worker is lost.
  [[nodiscard]] int take_channel();
  void give_back_channel(int number) noexcept;
  [[nodiscard]] static constexpr bool is_shared(int number) noexcept {
    return number == channels_per_worker - 1;
  }
  /// Locks the shared channel.
  [[nodiscard]] std::mutex& shared_channel() noexcept { return shared_channel_; }
  [[nodiscard]] channel& at(int number) const noexcept;

  /// The status with which the worker was lost, or 0.
  [[nodiscard]] std::atomic<int> const& lost() const noexcept { return lost_; }
  /// Marks the worker as lost, unless it is, kills it, and wakes all callers.
  void lose(int status, std::string_view reason) noexcept;
  /// Kills the process, and leaves it to others to notice.
  void crash() noexcept;
  /// Like `lose`, for a status that the driver of the worker has returned.
  void report_fault(int status, std::string_view reason) noexcept;
  [[nodiscard]] std::string reason() const;
  /// From now on, `device` also gets the status with which the worker is lost. It must outlive the
  /// worker.
  void serve(std::atomic<int>& device) noexcept;
  /// Waits until the process has ended and is reaped.
  void wait_for_end();
  /// Waits until nothing of the lost worker can write to memory any more.
  void wait_for_end_of_work(device_kind kind);

  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Waits for the end of the process and reaps it. For the supervisor.
  /// @param flags  0, or WNOHANG: does not wait.
  /// @return false  It has not ended.
  bool reap(int flags = 0) noexcept;

 private:
  void copy_reason(std::span<char> into) const noexcept;

  descriptor socket_;
  descriptor pidfd_;
  pid_t pid_ = -1;
  descriptor channels_file_;
  mapping channels_;
  std::mutex socket_use_;
  std::mutex shared_channel_;
  std::mutex mutable mutex_;
  std::condition_variable ended_;
  std::uint32_t taken_ = 0;   // a bit for each channel; guarded by mutex_
  std::uint32_t opened_ = 0;  // the same, for channels that the worker serves; guarded by mutex_
  bool is_reaped_ = false;  // guarded by mutex_; the system may give its number to another process
  bool has_ended_ = false;  // guarded by mutex_
  // A copy, which needs no memory of the heap: a worker can also be lost when there is none.
  std::array<char, 400> reason_{};      // guarded by mutex_
  std::atomic<int>* device_ = nullptr;  // guarded by mutex_
  std::atomic<int> lost_{0};
  // Whether the driver itself has said that the work of the device has ended.
  std::atomic<bool> has_faulted_{false};
};

}  // namespace flotilla::isolated

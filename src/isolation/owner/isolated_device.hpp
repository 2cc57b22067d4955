// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// One isolated device: its worker, its objects, its memory, and how it gets another worker.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "isolation/memory/device_memory.hpp"
#include "isolation/owner/journal.hpp"
#include "isolation/owner/known_workers.hpp"
#include "isolation/owner/posted_changes.hpp"
#include "isolation/owner/replica.hpp"
#include "isolation/owner/spare_slot.hpp"
#include "isolation/owner/worker_process.hpp"

namespace flotilla::isolated {

class owner;

/// A free that waits for the work that was ahead of it in its stream.
struct pending_free {
  CUdeviceptr address = 0;
  CUevent event = nullptr;
  std::uint32_t context = 0;  // of the stream and the event
};

/// What waits for streams, and events that wait for nothing.
struct stream_frees {
  std::deque<pending_free> pending;
  std::vector<CUevent> idle_events;
};

class isolated_device {
 public:
  isolated_device(owner& all, int ordinal);

  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  /// Protects everything below that has no comment on threads. Calls that make, change or end an
  /// object hold it during the call, so that the journal has what the worker has.
  [[nodiscard]] std::recursive_mutex& mutex() noexcept { return mutex_; }
  [[nodiscard]] journal& objects() noexcept { return objects_; }
  [[nodiscard]] device_memory& memory() noexcept { return memory_; }
  [[nodiscard]] stream_frees& frees() noexcept { return frees_; }
  [[nodiscard]] posted_changes& posted() noexcept { return posted_; }
  /// The sizes of the parameters of functions, in bytes, by handle.
  [[nodiscard]] std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>&
  parameters() noexcept {
    return parameters_;
  }

  /// Starts a worker if there is none, or if the last one was lost and the device has no context:
  /// then no runtime would replace it. Threads: any, without the lock.
  [[nodiscard]] CUresult ensure_worker();
  /// The number of the worker, which changes with each successor, and which worker each context
  /// knows. Threads: any.
  [[nodiscard]] known_workers& workers() noexcept { return workers_; }
  /// The worker that serves the device, and its number. Threads: any.
  [[nodiscard]] std::shared_ptr<worker_process> worker(std::uint32_t& generation);

  /// The sticky status of the device, or CUDA_SUCCESS. Threads: any. Cost: one load.
  [[nodiscard]] CUresult lost() const noexcept {
    return static_cast<CUresult>(lost_.load(std::memory_order_relaxed));
  }
  /// The status that calls get through a context: that of the device, or that of the worker that
  /// the context knows, if the device has another one by now. `context` is an object of the device,
  /// or 0. Threads: any.
  [[nodiscard]] CUresult lost_for(std::uint32_t context) const noexcept {
    CUresult const now = lost();
    return now != CUDA_SUCCESS ? now : workers_.missed(context);
  }
  [[nodiscard]] std::string reason(std::uint32_t context);
  /// See device_recovery::replace. `context` learns of the new worker; 0: all contexts do.
  [[nodiscard]] bool replace(std::uint32_t context);

  /// Makes a shared object in the worker, if it has not. Call it with the lock.
  [[nodiscard]] CUresult ensure_shared(std::uint32_t index);
  /// The shared objects that the worker has.
  [[nodiscard]] std::unordered_set<std::uint32_t>& shared_here() noexcept { return shared_here_; }

  /// Asks for a warm spare from now on, which has all objects of the device. Threads: any.
  void want_spare() noexcept { wants_spare_.store(true); }
  /// Starts a process that stands by: its driver is initialized, which takes half of the time of a
  /// start, but it has no context and so no memory of the device. If a warm spare is wanted, brings
  /// it up to date. For the keeper of spares.
  void tend_spare() noexcept;
  /// Whether a process stands by. Threads: any.
  [[nodiscard]] bool has_spare() const { return spare_.is_ready(); }
  /// Sends a message to the worker, if there is one. Threads: any.
  [[nodiscard]] CUresult ask(control_message const& what, int passed = -1);
  /// Tells the worker about a change of registered host memory, which the caller has marked in the
  /// arena. A lost device, and one without a worker, learns of it from the marks before its next
  /// worker serves it. Threads: any.
  [[nodiscard]] CUresult tell_of_host_memory(control_message const& what);

 private:
  /// Replaces the worker that was lost. Call it with the lock. @param next  The spare, if there is
  /// one.
  [[nodiscard]] bool replace_worker(std::optional<replica> next);
  /// Brings the worker up to date with host memory, and lets it serve the device. It misses
  /// nothing: `tell_of_host_memory` comes before, and its mark is seen, or after, and reaches it.
  /// @return an empty text, or why the worker cannot be used
  [[nodiscard]] std::string install(replica& next);
  [[nodiscard]] replicated parts() noexcept;

  owner& owner_;
  int const ordinal_;
  std::recursive_mutex mutex_;
  journal objects_;
  device_memory memory_;
  stream_frees frees_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> parameters_;
  std::unordered_set<std::uint32_t> shared_here_;
  posted_changes posted_;
  std::string why_not_;  // why there is no successor; empty if none was needed

  std::mutex host_changes_;  // taken after mutex_
  std::mutex worker_mutex_;
  std::shared_ptr<worker_process> worker_;  // guarded by worker_mutex_
  std::atomic<int> lost_{0};                // written by the worker
  known_workers workers_;

  std::atomic<bool> wants_spare_{false};
  spare_slot spare_;
};

}  // namespace flotilla::isolated

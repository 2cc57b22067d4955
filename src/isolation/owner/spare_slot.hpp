// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The process that stands by for a device.

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "isolation/owner/replica.hpp"
#include "isolation/owner/worker_process.hpp"

namespace flotilla::isolated {

/// The keeper takes the spare out while it starts or updates it. A spare can hang in its driver
/// then, so a device that needs it waits for a limited time, and then ends this process.
/// Threads: any.
class spare_slot {
 public:
  /// For the keeper: takes the spare out, if there is one that has not ended.
  /// @return false  Somebody tends it already.
  [[nodiscard]] bool begin_tending(std::optional<replica>& out);
  /// For the keeper: the process that it now starts or updates.
  void tend(std::shared_ptr<worker_process> process);
  /// For the keeper: puts the spare back. Nothing: there is none.
  void end_tending(std::optional<replica> spare);

  /// Takes the spare. If somebody tends it, waits for this time, and then ends its process.
  /// @return nothing  There is none.
  [[nodiscard]] std::optional<replica> take(std::chrono::milliseconds limit);
  /// Puts a spare back that was not needed.
  void put_back(std::optional<replica> spare);
  [[nodiscard]] bool is_ready() const;

 private:
  std::mutex mutable mutex_;
  std::condition_variable tended_;
  // All guarded by mutex_:
  std::optional<replica> spare_;
  bool is_tended_ = false;
  bool is_given_up_ = false;                 // whether the one that is tended must end
  std::shared_ptr<worker_process> process_;  // of the one that is tended
};

}  // namespace flotilla::isolated

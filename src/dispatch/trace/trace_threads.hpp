// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The threads of a runtime's traces.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "dispatch/trace/trace_thread.hpp"

namespace flotilla::dispatch {

/// The threads that have told a runtime something for a trace. A thread and this object share the
/// ownership of a trace_thread, because either may end first.
class trace_threads {
 public:
  /// @param runtime  The number of the runtime. Numbers are never reused.
  explicit trace_threads(std::uint64_t runtime) noexcept : runtime_(runtime) {}
  trace_threads(trace_threads const&) = delete;
  trace_threads& operator=(trace_threads const&) = delete;

  /// Returns the calling thread. Cost: two loads, except for the first call of a thread.
  /// @return null if there is no memory.
  [[nodiscard]] trace_thread* here() noexcept {
    return last_.runtime == runtime_ ? last_.thread : find();
  }
  [[nodiscard]] trace_budget& budget() noexcept { return budget_; }

  // ---- the writer of the trace ----

  /// Adds the threads that `seen` lacks to its end.
  void refresh(std::vector<std::shared_ptr<trace_thread>>& seen);

 private:
  struct of_this_thread;
  struct found {
    std::uint64_t runtime;
    trace_thread* thread;
  };
  [[nodiscard]] trace_thread* find() noexcept;

  std::uint64_t const runtime_;
  trace_budget budget_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<trace_thread>> threads_;  // by index
  static inline thread_local constinit found last_{};
};

}  // namespace flotilla::dispatch

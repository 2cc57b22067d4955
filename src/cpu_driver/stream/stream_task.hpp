#pragma once
// An operation of a stream that consists of steps, some of which may wait. A launch of an
// executable graph is one. The device thread runs it without knowing what it is.

#include <cuda.h>

namespace flotilla::cpu_driver {

struct launch_site;

/// Threads: the device thread alone, from the moment the task is in a stream until end().
class stream_task {
 public:
  /// Whether it can start, or continue after a wait. If not, the device is woken when it can, or it
  /// has to be polled.
  [[nodiscard]] virtual bool may_continue() noexcept = 0;
  /// Whether it waits for a value in memory, whose changes are not announced.
  [[nodiscard]] virtual bool needs_polling() const noexcept = 0;
  /// Runs steps until the end or until a step has to wait. Any status but CUDA_SUCCESS is a sticky
  /// fault.
  [[nodiscard]] virtual CUresult run_steps(launch_site const& site) noexcept = 0;
  [[nodiscard]] virtual bool finished() const noexcept = 0;
  /// The last call, also for a task that a fault has stopped: releases whoever waits for its steps.
  virtual void end() noexcept = 0;

 protected:
  ~stream_task() = default;
};

}  // namespace flotilla::cpu_driver

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interface of a stream operation that consists of several steps, some of which may wait. The
// class graph_run, a launch of an executable graph, implements this interface. The device thread
// knows only the interface, so this folder does not depend on the folder `graph`.

#include <cuda.h>

namespace flotilla::cpu_driver {

struct launch_site;

/// After the task was enqueued in a stream, only the device thread may use the task until end().
class stream_task {
 public:
  /// Whether the task can start, or can continue after a wait. If the result is false, the device
  /// thread must call this function again: repeatedly if needs_polling() is true, otherwise when
  /// the device thread is woken.
  [[nodiscard]] virtual bool may_continue() noexcept = 0;
  /// Whether the task waits for a value in memory. Nothing wakes the device thread when the value
  /// changes.
  [[nodiscard]] virtual bool needs_polling() const noexcept = 0;
  /// Runs steps until all steps have run or a step has to wait. Any result except CUDA_SUCCESS is a
  /// sticky fault.
  [[nodiscard]] virtual CUresult run_steps(launch_site const& site) noexcept = 0;
  [[nodiscard]] virtual bool finished() const noexcept = 0;
  /// Ends the task, even if a fault has stopped it, and releases the threads that wait for its
  /// steps. After this call, no member function may be called.
  virtual void end() noexcept = 0;

 protected:
  ~stream_task() = default;
};

}  // namespace flotilla::cpu_driver

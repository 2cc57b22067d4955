#pragma once
// The interface of a stream operation that consists of several steps, some of which may wait. It is
// implemented by graph_run, a launch of an executable graph. The device thread knows only this
// interface, so this folder does not depend on `graph`.

#include <cuda.h>

namespace flotilla::cpu_driver {

struct launch_site;

/// While the task is in a stream, until end(), only the device thread may use it.
class stream_task {
 public:
  /// Whether the task can start, or continue after a wait. If it returns false, the device is woken
  /// when the wait has ended. If needs_polling() is true, the device is not woken and must call
  /// this function again.
  [[nodiscard]] virtual bool may_continue() noexcept = 0;
  /// Whether the task waits for a value in memory. Nothing wakes the device when the value changes.
  [[nodiscard]] virtual bool needs_polling() const noexcept = 0;
  /// Runs steps until all steps have run or a step has to wait. Any result except CUDA_SUCCESS is a
  /// sticky fault.
  [[nodiscard]] virtual CUresult run_steps(launch_site const& site) noexcept = 0;
  [[nodiscard]] virtual bool finished() const noexcept = 0;
  /// Ends the task, also if a fault has stopped it, and releases the threads that wait for its
  /// steps. No member function may be called afterwards.
  virtual void end() noexcept = 0;

 protected:
  ~stream_task() = default;
};

}  // namespace flotilla::cpu_driver

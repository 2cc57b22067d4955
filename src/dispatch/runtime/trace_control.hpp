// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a runtime begins and ends traces.

#include <memory>
#include <span>

#include <flotilla/device/device.hpp>
#include <flotilla/trace.hpp>

#include "dispatch/device/device_set.hpp"
#include "dispatch/fault/usage_guard.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/task/task_table.hpp"
#include "dispatch/trace/tracer.hpp"

namespace flotilla::dispatch {

/// Threads: any, for `start`. Only the constructor and the end of the runtime call the others.
class trace_control {
 public:
  struct parts {
    tracer& trace;
    task_table const& tasks;
    device_set const& devices;
    kernel_table const& kernels;
    std::span<device const> infos;
    usage_guard const& usage;
  };
  explicit trace_control(parts const& with) noexcept : with_(with) {}

  /// Begins a trace. @throws the exceptions of flotilla::trace::trace
  [[nodiscard]] std::shared_ptr<detail::trace_session> start(trace_options options) const;
  /// Begins the trace that the environment asks for, if any. If the file cannot be opened, prints
  /// why. @throws unknown_setting
  void start_of_environment() const;
  /// Ends the trace, if there is one.
  void end() const noexcept;

 private:
  /// Waits until threads have noticed the ends of the tasks that have ended. While other threads
  /// keep devices busy, it gives up.
  void notice_ends() const;
  /// Notes the tasks that devices have taken and that have not ended. Leaves out a device whose
  /// lease another thread does not give back soon, because it is inside a callable.
  void note_open_tasks() const;

  parts const with_;
};

}  // namespace flotilla::dispatch

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Whether a device makes progress.

#include <string>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

class runtime;

/// The state of a device.
enum class device_health {
  ok,
  /// Work was launched on the device and has not ended for longer than
  /// `runtime_options::stuck_after`: a kernel or copy takes too long, or the work waits for
  /// something that does not happen. Nothing in this process can stop a running kernel. While
  /// another device is ok, tasks that name no device go there. When the work ends, the device is ok
  /// again. An isolated device is not stuck for long: its worker process is ended and replaced.
  stuck,
  /// The runtime is poisoned (see `poisoned`), so no device of this process can be used any more.
  faulted,
  /// An isolated device was lost and gets another worker process. Its tasks wait meanwhile.
  restarting,
  /// An isolated device was lost too often (see runtime_options::restart), or no worker process
  /// could be started. It runs no more tasks. Tasks that name no device go to other devices.
  quarantined,
  /// The driver refused to take the context of the device off a thread's stack (cuCtxPopCurrent),
  /// or took off another one. flotilla no longer uses the device. Tasks that name it fail with
  /// `driver_error`. Tasks that name no device go to other devices.
  retired,
};

/// Returns whether the device makes progress. Without `runtime_options::stuck_after`, no device is
/// ever stuck. In single-threaded mode, the runtime looks at its devices only in `pump`, waits and
/// this call.
/// @throws unknown_device, used_after_fork
/// Threads  any.
/// Blocks   never.
/// Cost     one query of each stream, as in a wait.
[[nodiscard]] FLOTILLA_EXPORT device_health health(runtime const& owner, device_ordinal device);

/// Returns "ok", "stuck", "faulted", "restarting", "quarantined" or "retired".
[[nodiscard]] FLOTILLA_EXPORT std::string to_string(device_health value);

}  // namespace v0_1
}  // namespace flotilla

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The messages that flotilla writes while a program runs. They go to stderr, or to a function.
///
/// The log belongs to the process, because some messages belong to no runtime. By default, it has
/// errors and warnings, each as one line "flotilla: TEXT". The environment variable FLOTILLA_LOG
/// (error, warning, info or debug) sets the level. With this variable, or with a level that the
/// program sets, each line also has the time (UTC), the level, the thread and, if there is one, the
/// device:
///
///   flotilla: 08:25:10.123456 warning, thread 4711, device 0: TEXT

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

/// The levels of messages. A log with a level has the messages of this level and those before it.
enum class log_level {
  error,    ///< an error that no ticket has, such as that of a posted task; a finding of a check
  warning,  ///< the program works, but not as it was asked to, or slower than it could
  info,     ///< what flotilla does that takes long, such as making contexts and compiling kernels
  debug,    ///< details for debugging, such as why a cache was not used
};

/// Returns the name of a level, such as "warning".
[[nodiscard]] FLOTILLA_EXPORT std::string_view to_string(log_level level) noexcept;

/// Reads the name of a level.
/// @throws unknown_setting  It is no level. The message has the text and lists the levels.
[[nodiscard]] FLOTILLA_EXPORT log_level parse_log_level(std::string_view text);

/// One message.
struct log_message {
  log_level level;
  std::chrono::system_clock::time_point time;
  std::uint64_t thread;                  ///< the thread's number in the operating system (gettid)
  std::optional<device_ordinal> device;  ///< empty if the message is not about one device
  std::string_view text;                 ///< without a newline at its end; valid during the call
};

/// Gets each message. Several threads may call it at the same time, and a thread may hold the lease
/// of a device during the call. So the function must be quick, and must not call flotilla. An
/// exception that it throws is dropped.
using log_handler = std::function<void(log_message const&)>;

/// Sets the level of the process. It overrides FLOTILLA_LOG. Threads: any.
FLOTILLA_EXPORT void set_log_level(log_level level) noexcept;
/// Returns the level of the process. If FLOTILLA_LOG has a wrong value and no level is set, it is
/// `warning`; the constructor of a runtime throws unknown_setting in this case.
[[nodiscard]] FLOTILLA_EXPORT log_level current_log_level() noexcept;
/// Sends all messages to `handler` instead of stderr. With an empty handler, they go to stderr
/// again. The previous handler is kept until the process ends, because another thread may be
/// calling it. Threads: any.
FLOTILLA_EXPORT void set_log_handler(log_handler handler);

}  // namespace v0_1
}  // namespace flotilla

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/slow_call_report.hpp"

#include "base/log.hpp"

namespace flotilla::dispatch {

namespace {

double milliseconds(slow_call_report::duration time) noexcept {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

void slow_call_report::report_callable(duration took, std::string const& what) noexcept {
  base::log_format(log_level::warning,
                   "%s ran for %.1f ms. During this time its device started no other task. "
                   "Move code that blocks into a continuation (ticket::then) or a thread of the "
                   "application. Further callables are not reported "
                   "(runtime_options::report_calls_longer_than)",
                   what.c_str(), milliseconds(took));
}

void slow_call_report::note_continuation(duration took) noexcept {
  if (!is_slow(took) || continuation_reported_.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  base::log_format(
      log_level::warning,
      "a continuation ran for %.1f ms inside a call of pump or a wait, while "
      "tasks were open. During this time the thread drove no device. Set "
      "runtime_options::continuation_executor, or use workers. Further continuations are "
      "not reported (runtime_options::report_calls_longer_than)",
      milliseconds(took));
}

}  // namespace flotilla::dispatch

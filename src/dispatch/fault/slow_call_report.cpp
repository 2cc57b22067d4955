// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/slow_call_report.hpp"

#include <cstdint>
#include <ratio>

#include "base/log.hpp"

namespace flotilla::dispatch {

namespace {

// printf would write a fraction with the decimal point of the program's locale.
using tenths_of_ms = std::chrono::duration<std::intmax_t, std::ratio<1, 10'000>>;

std::intmax_t tenths(slow_call_report::duration time) noexcept {
  return std::chrono::duration_cast<tenths_of_ms>(time).count();
}

}  // namespace

void slow_call_report::report_callable(duration took, std::string const& what) noexcept {
  base::log_format(log_level::warning,
                   "%s ran for %jd.%jd ms. During this time its device started no other task. "
                   "Move code that blocks into a continuation (ticket::then) or a thread of the "
                   "application. Further callables are not reported "
                   "(runtime_options::report_calls_longer_than)",
                   what.c_str(), tenths(took) / 10, tenths(took) % 10);
}

void slow_call_report::note_continuation(duration took) noexcept {
  if (!is_slow(took) || continuation_reported_.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  base::log_format(
      log_level::warning,
      "a continuation ran for %jd.%jd ms inside a call of pump or a wait, while "
      "tasks were open. During this time the thread drove no device. Set "
      "runtime_options::continuation_executor, or use workers. Further continuations are "
      "not reported (runtime_options::report_calls_longer_than)",
      tenths(took) / 10, tenths(took) % 10);
}

}  // namespace flotilla::dispatch

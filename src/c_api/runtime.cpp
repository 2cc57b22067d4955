// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/c/runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "c_api/call.hpp"
#include "c_api/destruction.hpp"
#include "c_api/objects.hpp"

namespace flotilla::c_api {

namespace {

runtime_options options_of(flotilla_runtime_options const* given) {
  runtime_options made;
  if (given == nullptr) { return made; }
  check_size(*given, "flotilla_runtime_options");
  if (given->devices != nullptr) { made.devices = given->devices; }
  made.workers = given->workers;
  made.best_effort = given->best_effort != 0;
  if (given->window != 0) { made.window = given->window; }
  if (given->settings != nullptr) { made.settings = settings::parse(given->settings); }
  if (given->stuck_after_ns != 0) {
    constexpr std::uint64_t longest = 1'000'000'000'000;  // ms, about 30 years
    std::uint64_t const left = given->stuck_after_ns % 1'000'000;
    std::uint64_t const time = given->stuck_after_ns / 1'000'000 + (left == 0 ? 0 : 1);
    made.stuck_after = std::chrono::milliseconds{std::min(time, longest)};
  }
  return made;
}

/// Removes the programs and kernels of a runtime, which refer to it.
void remove_programs(held_runtime& of) noexcept {
  for (std::uint64_t const each : of.kernels) { kernel_table::get().remove(each); }
  for (std::uint64_t const each : of.programs) { program_table::get().remove(each); }
}

/// @throws refused_call  Objects of the runtime exist.
void refuse_if_used(held_runtime const& held) {
  refuse_if_any(held.buffers, "buffers", "free");
  refuse_if_any(held.recordings, "recordings", "destroy");
  refuse_if_any(held.data, "data", "destroy");
  refuse_if_any(held.flows, "flows", "destroy");
  refuse_if_any(held.clusters, "clusters", "destroy");
  refuse_if_any(held.traces, "traces", "end");
}

void destroy(flotilla_runtime handle) {
  destruction claimed{runtime_table::get(), handle.id, kinds::runtime};
  refuse_if_used(claimed.held());
  try {
    claimed.held().rt.wait_idle();  // throws if the caller is inside a task: it cannot end then
  } catch (poisoned const&) {       // then no task is left to wait for
  }
  refuse_if_used(claimed.held());  // a function of a task may have made objects during the wait
  std::unique_ptr<held_runtime> const taken = claimed.take();
  remove_programs(*taken);
}

}  // namespace

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_runtime_create(flotilla_runtime_options const* options,
                                        flotilla_runtime* made) {
  return guarded("flotilla_runtime_create", [&] {
    required(made, "made").id = 0;
    auto held = std::make_unique<held_runtime>(options_of(options));
    made->id = runtime_table::get().add(std::move(held));
  });
}

flotilla_status flotilla_runtime_destroy(flotilla_runtime rt) {
  return guarded("flotilla_runtime_destroy", [&] { destroy(rt); });
}

flotilla_status flotilla_runtime_close(flotilla_runtime rt) {
  return guarded("flotilla_runtime_close", [&] { object(rt).rt.close(); });
}

flotilla_status flotilla_pump(flotilla_runtime rt, int* open) {
  return guarded("flotilla_pump", [&] {
    bool const is_open = object(rt).rt.pump();
    if (open != nullptr) { *open = is_open ? 1 : 0; }
  });
}

flotilla_status flotilla_wait_idle(flotilla_runtime rt) {
  return guarded("flotilla_wait_idle", [&] { object(rt).rt.wait_idle(); });
}

flotilla_status flotilla_flush_printf(flotilla_runtime rt) {
  return guarded("flotilla_flush_printf", [&] { object(rt).rt.flush_printf(); });
}

flotilla_status flotilla_driver_text(flotilla_runtime rt, char const** text) {
  return guarded("flotilla_driver_text",
                 [&] { required(text, "text") = object(rt).rt.driver_text().c_str(); });
}

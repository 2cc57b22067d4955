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
#include "c_api/objects.hpp"

namespace flotilla::c_api {

namespace {

runtime_options options_of(flotilla_runtime_options const* given) {
  runtime_options made;
  if (given == nullptr) { return made; }
  // Programs that were compiled with an earlier header lack the last member.
  check_size(*given, "flotilla_runtime_options",
             offsetof(flotilla_runtime_options, stuck_after_ns));
  if (given->devices != nullptr) { made.devices = given->devices; }
  made.workers = given->workers;
  made.best_effort = given->best_effort != 0;
  if (given->window != 0) { made.window = given->window; }
  if (given->settings != nullptr) { made.settings = settings::parse(given->settings); }
  if (given->size >= sizeof *given && given->stuck_after_ns != 0) {
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
/// @param end  What the program must do with them.
void refuse_if_any(std::atomic<std::size_t> const& count, char const* objects, char const* end) {
  if (std::size_t const left = count.load(); left != 0) {
    throw refused_call(FLOTILLA_STILL_USED, std::to_string(left) + " of its " + objects +
                                                " exist; " + end + " them first");
  }
}

/// @throws refused_call  Objects of the runtime exist.
void refuse_if_used(held_runtime const& held) {
  refuse_if_any(held.buffers, "buffers", "free");
  refuse_if_any(held.recordings, "recordings", "destroy");
  refuse_if_any(held.data, "data", "destroy");
  refuse_if_any(held.flows, "flows", "destroy");
  refuse_if_any(held.traces, "traces", "end");
}

/// The right of one call to destroy a runtime. The handle stays valid meanwhile, because functions
/// of tasks use it, and for these the call waits. Another call that destroys the same runtime must
/// not touch it: it could be gone at any time. So the search for the runtime, the claim and the
/// removal lock one mutex.
class destruction {
 public:
  /// @throws refused_call  The runtime does not exist, or another call destroys it.
  explicit destruction(flotilla_runtime handle) : handle_{handle} {
    std::lock_guard const lock{mutex()};
    held_ = &object(handle);
    if (std::exchange(held_->is_being_destroyed, true)) {
      throw refused_call(FLOTILLA_INVALID_HANDLE,
                         "another call of flotilla_runtime_destroy is destroying this runtime");
    }
  }
  ~destruction() {
    std::lock_guard const lock{mutex()};
    if (held_ != nullptr) { held_->is_being_destroyed = false; }
  }
  destruction(destruction const&) = delete;
  destruction& operator=(destruction const&) = delete;

  [[nodiscard]] held_runtime& held() const noexcept { return *held_; }
  /// Makes the handle name no runtime, and returns the runtime.
  [[nodiscard]] std::unique_ptr<held_runtime> take() noexcept {
    std::lock_guard const lock{mutex()};
    held_ = nullptr;
    return std::move(*runtime_table::get().take(handle_.id));
  }

 private:
  [[nodiscard]] static std::mutex& mutex() noexcept {
    static auto* const made = new std::mutex;  // destructors of static objects may destroy runtimes
    return *made;
  }
  flotilla_runtime const handle_;
  held_runtime* held_ = nullptr;  // null after `take`
};

void destroy(flotilla_runtime handle) {
  destruction claimed{handle};
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

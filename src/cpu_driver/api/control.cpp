// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/api/control.hpp"

#include <cstdio>
#include <string>

#include "cpu_driver/context/context.hpp"
#include "cpu_driver/context/context_stack.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/context/driver_state.hpp"
#include "cpu_driver/fault/fault.hpp"
#include "cpu_driver/fault/injection.hpp"
#include "cpu_driver/memory/memory_map.hpp"
#include "cpu_driver/module/library.hpp"
#include "cpu_driver/module/module.hpp"
#include "cpu_driver/stream/event.hpp"

namespace flotilla::cpu_driver {
namespace {

int inject(char const* spec, char* error, std::size_t error_bytes) {
  std::string reason;
  if (spec != nullptr && driver_state::get().inject(spec, reason)) { return 0; }
  if (error != nullptr) { std::snprintf(error, error_bytes, "%s", reason.c_str()); }
  return -1;
}

void start_error(char* error, std::size_t error_bytes) {
  std::snprintf(error, error_bytes, "%s", driver_state::get().start_error().c_str());
}

live_counts live_handles() {
  return {.contexts = context::table().live(),
          .streams = stream::table().live(),
          .events = event::table().live(),
          .allocations = memory_map::of_process().live(),
          .modules = module::table().live(),
          .libraries = library::table().live()};
}

bool reset_fault() {
  if (context::table().live() != 0) { return false; }
  fault::reset();
  return true;
}

void replace_device(int ordinal) {
  device* const lost = driver_state::get().find_device(ordinal);
  if (lost == nullptr) { return; }
  lost->thread().wait_for_abandon();
  fault::reset(ordinal);
}

constexpr flotilla_cpu_driver_control functions{
    .version = flotilla_cpu_driver_control::current_version,
    .ensure_devices = [](int count) { driver_state::get().ensure_devices(count); },
    .inject = &inject,
    .clear_injection = [] { driver_state::get().clear_injection(); },
    .live_handles = &live_handles,
    .stack_depth = &context_stack::depth,
    .reset_fault_for_tests = &reset_fault,
    .start_error = &start_error,
    .confine_faults = [](int device, bool on) { fault::confine(device, on); },
    .lose_device = [](int device,
                      int status) { fault::raise(static_cast<CUresult>(status), device); },
    .fault_of_device = [](int device) { return static_cast<int>(fault::status(device)); },
    .replace_device = &replace_device,
    .delayed_calls = &injection::delayed_calls,
};

}  // namespace

flotilla_cpu_driver_control const& control() noexcept { return functions; }

}  // namespace flotilla::cpu_driver

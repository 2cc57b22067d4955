#include "cpu_driver/control.hpp"

#include <cstdio>
#include <string>

#include "cpu_driver/context_stack.hpp"
#include "cpu_driver/driver_state.hpp"
#include "cpu_driver/fault.hpp"
#include "cpu_driver/injection.hpp"

namespace flotilla::cpu_driver {
namespace {

int inject(char const* spec, char* error, std::size_t error_bytes) {
  std::string reason;
  if (spec != nullptr && injection::apply(spec, reason)) { return 0; }
  if (error != nullptr) { std::snprintf(error, error_bytes, "%s", reason.c_str()); }
  return -1;
}

live_counts live_handles() {
  auto& state = driver_state::get();
  return {.contexts = state.contexts().live(),
          .streams = state.streams().live(),
          .events = state.events().live(),
          .allocations = state.memory().live(),
          .modules = state.modules().live(),
          .libraries = state.libraries().live()};
}

bool reset_fault() {
  if (driver_state::get().contexts().live() != 0) { return false; }
  fault::reset();
  return true;
}

constexpr flotilla_cpu_driver_control functions{
    .version = flotilla_cpu_driver_control::current_version,
    .ensure_devices = [](int count) { driver_state::get().ensure_devices(count); },
    .inject = &inject,
    .clear_injection = &injection::clear,
    .live_handles = &live_handles,
    .stack_depth = &context_stack::depth,
    .reset_fault_for_tests = &reset_fault,
};

}  // namespace

flotilla_cpu_driver_control const& control() noexcept { return functions; }

}  // namespace flotilla::cpu_driver

#pragma once
// Functions of a CPU driver for tests and for flotilla itself, in addition to the CUDA API. The
// drop-in exports them as `flotilla_cpu_driver`, which also identifies it; the built-in copy as
// control().

#include <cstddef>

namespace flotilla::cpu_driver {

/// The numbers of open handles and of allocations. They include a library's module in a context,
/// but not the NULL stream of a context nor the variables of a module.
struct live_counts {
  std::size_t contexts;
  std::size_t streams;
  std::size_t events;
  std::size_t allocations;
  std::size_t modules;
  std::size_t libraries;
};

struct flotilla_cpu_driver_control {
  static constexpr int current_version = 1;
  int version;

  /// From now on the driver has at least `count` devices, but at most 64. Threads: any.
  void (*ensure_devices)(int count);
  /// Adds fault injections, in the language of injection.hpp. 0, or -1 with the reason in `error`.
  int (*inject)(char const* spec, char* error, std::size_t error_bytes);
  /// Removes all fault injections.
  void (*clear_injection)();
  /// Exact only while no other thread calls the driver.
  live_counts (*live_handles)();
  /// The number of contexts on the calling thread's stack.
  std::size_t (*stack_depth)();
  /// Removes the sticky fault. False, without effect, while a context lives.
  bool (*reset_fault_for_tests)();
};

[[nodiscard]] flotilla_cpu_driver_control const& control() noexcept;

}  // namespace flotilla::cpu_driver

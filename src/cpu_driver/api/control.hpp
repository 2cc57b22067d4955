#pragma once
// What tests and flotilla itself may ask of a CPU driver beside the CUDA API. The drop-in exports
// it as `flotilla_cpu_driver`, by which it is recognised; the built-in copy offers it as control().

#include <cstddef>

namespace flotilla::cpu_driver {

/// Handles that are open and memory that is allocated. A context's NULL stream and the variables of
/// a module are not counted, a library's module in a context is.
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

  /// The driver exposes at least `count` devices from now on; 64 at most. Any thread, any time.
  void (*ensure_devices)(int count);
  /// Adds to what is injected: see injection.hpp for the language. 0, or -1 with the reason in
  /// `error`.
  int (*inject)(char const* spec, char* error, std::size_t error_bytes);
  /// Takes all injections back.
  void (*clear_injection)();
  /// Exact only while no other thread calls the driver.
  live_counts (*live_handles)();
  /// Contexts on the calling thread's stack.
  std::size_t (*stack_depth)();
  /// Ends the poisoning by a fault. Only while no context lives: false otherwise, and nothing
  /// changes.
  bool (*reset_fault_for_tests)();
};

[[nodiscard]] flotilla_cpu_driver_control const& control() noexcept;

}  // namespace flotilla::cpu_driver

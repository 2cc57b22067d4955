#pragma once
// The objects that the devices of a runtime share.

#include <chrono>
#include <cstdint>

#include "dispatch/fault/fault_monitor.hpp"
#include "dispatch/fault/task_text.hpp"
#include "dispatch/graph/builtin_kernels.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/lane/completion_board.hpp"
#include "dispatch/ordering/continuation_table.hpp"
#include "dispatch/ordering/dependencies.hpp"
#include "dispatch/ordering/task_end.hpp"
#include "dispatch/queue/doorbell.hpp"
#include "dispatch/queue/shared_queue.hpp"
#include "dispatch/recording/recorded_parts.hpp"
#include "dispatch/task/epoch_reclaimer.hpp"
#include "dispatch/task/failure.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Constants that tests change. Users get the defaults.
struct tuning {
  // A device has at most one device-side wait for this many multiprocessors.
  unsigned multiprocessors_per_device_wait = 16;
  // If no device-side wait has ended for this long, they wait for something slow.
  std::chrono::microseconds device_wait_turnover{100};
  // The number that lanes begin with.
  std::uint64_t first_completion_number = 0;
  // Returns kernels of a CPU device that stand for flotilla's own; null: CPU devices have none.
  builtin_functions (*cpu_builtins)(context::context_handle const& context) = nullptr;
};

/// Made by runtime_state in this order, before any device.
struct runtime_parts {
  std::uint64_t id;  // of the runtime; never used again in this process
  bool single_threaded;
  tuning const& tuned;
  task_table const& tasks;
  epoch_reclaimer& reclaimer;
  failure_table& failures;
  doorbell const& bell;
  shared_queue& shared;
  completion_board& board;
  kernel_table const& kernels;
  recorded_parts& recordings;
  dependencies& order;
  continuation_table& continuations;
  posted_errors& posted;
  task_end& ends;
  task_text const& text;
  fault_monitor& faults;
};

}  // namespace flotilla::dispatch

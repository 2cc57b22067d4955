// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objects that the devices of a runtime share.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/batching/order_choice.hpp"
#include "dispatch/fault/fault_monitor.hpp"
#include "dispatch/fault/overdue_tasks.hpp"
#include "dispatch/fault/slow_call_report.hpp"
#include "dispatch/fault/task_text.hpp"
#include "dispatch/graph/builtin_kernels.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/lane/chunk_memory.hpp"
#include "dispatch/lane/completion_board.hpp"
#include "dispatch/ordering/bulk_table.hpp"
#include "dispatch/ordering/continuation_table.hpp"
#include "dispatch/ordering/dependencies.hpp"
#include "dispatch/ordering/host_work.hpp"
#include "dispatch/ordering/pollers.hpp"
#include "dispatch/ordering/task_end.hpp"
#include "dispatch/queue/doorbell.hpp"
#include "dispatch/queue/shared_queue.hpp"
#include "dispatch/recording/recorded_parts.hpp"
#include "dispatch/recording/replay_turns.hpp"
#include "dispatch/task/epoch_reclaimer.hpp"
#include "dispatch/task/failure.hpp"
#include "dispatch/task/task_table.hpp"
#include "dispatch/trace/tracer.hpp"

namespace flotilla::dispatch {

/// Constants that tests may change. Users get the defaults.
struct tuning {
  // A device runs at most one device-side wait at a time for each group of this many
  // multiprocessors.
  unsigned multiprocessors_per_device_wait = 16;
  // A task is held back only if a device-side wait has ended at most this long ago.
  std::chrono::microseconds device_wait_turnover{100};
  // A launch that fills the device for so long goes alone (see batcher::loses_in_batch).
  float filling_launch_ns = 10'000;
  // If not 0, every kernel is taken to run for so long, and none is measured. On a busy machine, a
  // measured kernel of a CPU device can seem much longer than it is.
  float kernel_ns = 0;
  // When dependent tasks share an ordered grid (see grid_run). The environment variable
  // FLOTILLA_ORDERED_GRIDS replaces this value.
  order_use ordered_grids = order_use::by_device;
  // The completion number with which each lane begins.
  std::uint64_t first_completion_number = 0;
  // How many tasks that are not launched can be waited for at the same time by streams of the
  // application, without the host waiting (see stream_waits).
  std::size_t stream_wait_flags = 8192;
  // A function that returns replacements for flotilla's built-in kernels on a CPU device. If null,
  // CPU devices have no built-in kernels.
  builtin_functions (*cpu_builtins)(context::context_handle const& context) = nullptr;
  // A folder with the NUMA nodes of the machine.
  std::string numa_root = "/sys/devices/system/node";
  // Makes the devices isolated, as far as the runtime can tell.
  driver::device_recovery* recovery = nullptr;
  // The NUMA node of each device. If empty, the devices have the nodes that the system names.
  std::vector<int> numa_nodes{};
};

/// References to the objects that all devices of a runtime share. runtime_state creates the objects
/// in the order of these members, before any device.
struct runtime_parts {
  std::uint64_t id;  // the number of the runtime; never reused in this process
  bool single_threaded;
  bool fuse_launches;    // runtime_options::fuse_launches
  bool checks_order;     // checks::order
  unsigned host_device;  // context::host_device
  tuning const& tuned;
  task_table const& tasks;
  epoch_reclaimer& reclaimer;
  failure_table& failures;
  doorbell const& bell;
  shared_queue& shared;
  completion_board& board;
  kernel_table const& kernels;
  std::shared_ptr<progress_words> const& progress;
  recorded_parts& recordings;
  replay_turns& turns;
  dependencies& order;
  host_tasks& hosts;
  host_work& on_host;
  continuation_table& continuations;
  bulk_table& bulks;
  chunk_memories& chunks;
  posted_errors& posted;
  task_end& ends;
  task_text const& text;
  lost_devices& lost;
  fault_monitor& faults;
  stuck_devices& stuck;
  slow_waits& long_waits;
  overdue_tasks& overdue;
  slow_call_report& slow_calls;
  tracer& trace;
  pollers& polled;

  /// Returns whether a task is open, or the error of a bulk without a ticket is not reported yet.
  [[nodiscard]] bool any_open() const noexcept {
    return tasks.any_open() || bulks.any_without_ticket();
  }
};

}  // namespace flotilla::dispatch

#pragma once
// What is going on at one device, as whoever drives it has it at hand.

#include <cuda.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/cache_line.hpp"
#include "dispatch/batch_shape.hpp"
#include "dispatch/failure.hpp"
#include "dispatch/inbox.hpp"
#include "dispatch/lane.hpp"
#include "dispatch/lane_plan.hpp"
#include "dispatch/launch_stage.hpp"
#include "dispatch/leveled_tasks.hpp"
#include "dispatch/slot.hpp"
#include "dispatch/urgency.hpp"

namespace flotilla::dispatch {

/// Only the holder of the device's lease.
struct alignas(base::cache_line) driving_state {
  inbox_registry::view own_view;
  inbox_registry::view any_view;
  std::vector<std::unique_ptr<lane>> lanes;
  leveled_tasks ready;  // popped, and no room yet
  leveled_tasks works;  // callables that may run
  std::unordered_map<slot_address, std::shared_ptr<failure const>> outcomes;  // of callables that failed,
                                                                             // until their stream has passed
  std::vector<slot_address> resumed;  // parked ones whose predecessor is staged: to be started before it goes
  std::vector<slot_address> taken;   // scratch
  std::vector<slot_address> back;    // scratch: what was requeued
  std::vector<end_mark> waits;       // scratch
  std::array<launch_stage, lane_plan::all_lanes> stages;
  std::uint64_t staged = 0;          // lanes whose stage is not empty
  std::uint64_t busy = 0;            // lanes with batches in flight
  std::array<unsigned, urgencies> filling{};  // of each level, the lane whose stage takes what waits for nothing
  std::size_t in_flight = 0;         // launches given to lanes and not ended
  std::size_t urgent_in_flight = 0;  // those that are urgent
  bool has_urgent_lanes = false;     // on a GPU: for launches, and used once
  std::size_t waiting = 0;           // tasks at hand at the start of the pass, about
  std::size_t lasting = 0;           // batches in flight whose kernels may take long
  std::uint32_t awaiting = 0;        // batches, staged or in flight, that wait for another device themselves
  std::chrono::steady_clock::time_point awaiter_ended{};  // the last
  std::chrono::steady_clock::time_point last_pass{};      // with batches that await
  bool passes_often = false;         // some microseconds apart, as a task that is kept needs it
  bool kept = false;                 // in this pass a task was, until it may await
  std::optional<bool> awaits;        // whether any may: see may_await
  std::size_t kernels_seen = 0;      // of the table, by may_await
  std::chrono::steady_clock::time_point works_since{};  // a callable waits for awaiters to leave since; else 0
  std::vector<kernel_pace> paces;    // by kernel
  CUDA_KERNEL_NODE_PARAMS parameters{};  // scratch
  std::vector<void*> pointers;           // scratch
  std::chrono::steady_clock::time_point last_freeing{};
};

}  // namespace flotilla::dispatch

#pragma once
// Launches that are collected and will go out together.

#include <array>
#include <cstdint>

#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/lane/lane.hpp"

namespace flotilla::dispatch {

/// The next batch of one lane. Only the holder of the device's lease; empty between two passes.
struct open_batch {
  std::array<slot_address, lane::max_tasks> tasks;
  std::uint32_t count = 0;
  std::uint32_t max_tasks = 1;
  std::uint32_t max_chain = 1;  // like max_tasks, if its tasks run one after another
  // The batch or its lane waits for something, so only tasks that follow a task of the batch may
  // join.
  bool waits = false;
  batch_traits traits;
};

}  // namespace flotilla::dispatch

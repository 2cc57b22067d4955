#pragma once
// Launches that are gathered to go out together.

#include <array>
#include <cstdint>

#include "dispatch/lane.hpp"
#include "dispatch/slot.hpp"

namespace flotilla::dispatch {

/// What one lane is to be given next. Only the holder of the device's lease; empty between two passes.
struct launch_stage {
  static constexpr std::uint32_t no_kernel = 0xffff'ffff;

  std::array<slot_address, lane::most_tasks> tasks;
  std::uint32_t count = 0;
  std::uint32_t most = 1;      // tasks
  std::uint32_t most_in_chain = 1;  // the same, once they run behind one another
  std::uint32_t width = 1;     // chains side by side; 1 where one of the tasks is to run behind another
  std::uint32_t run = 1;       // of how many behind one another the end is seen together
  std::uint32_t kernel = no_kernel;  // of all its tasks, where that is one
  end_mark awaited{};          // what the batch itself is to wait for first; not launched: nothing
  bool behind = false;         // it waits for something, or its lane was told to: only what waits for it too comes in
  bool ordered = false;        // a task here runs behind another one here
  bool lasting = false;        // one of its kernels is not short, or nobody has seen it run
};

}  // namespace flotilla::dispatch

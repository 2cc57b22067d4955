// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/stream/run_launch.hpp"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/pause.hpp"
#include "base/per_thread.hpp"
#include "cpu_driver/fault/fault.hpp"
#include "cpu_driver/fault/injection.hpp"
#include "cpu_driver/kernel/grid.hpp"
#include "cpu_driver/kernel/ordered_twin.hpp"
#include "cpu_driver/kernel/twin.hpp"

namespace flotilla::cpu_driver {
namespace {

using clock = std::chrono::steady_clock;

// The addresses of a kernel's arguments. Each device thread reuses one vector, so a launch usually
// does not allocate.
struct argument_list {
  std::vector<void*> addresses;
};

// Returns the array of argument addresses that a kernel's entry function takes.
void* const* argument_addresses(launch_kernel& launch) {
  std::vector<void*>& addresses = base::per_thread<argument_list>::get().addresses;
  point_to_arguments(launch.arguments, *launch.kernel, addresses);
  return addresses.data();
}

grid_hooks hooks_of(context_resources& context) noexcept {
  return {
      .user = &context,
      .allocate =
          [](void* user, std::size_t bytes) {
            return static_cast<context_resources*>(user)->heap.allocate(bytes);
          },
      .release =
          [](void* user, void* address) {
            static_cast<context_resources*>(user)->heap.release(address);
          },
      .print =
          [](void* user, char const* text, std::size_t bytes) {
            static_cast<context_resources*>(user)->fifo.print(text, bytes);
          },
  };
}

void take_longer(clock::time_point start, double factor) {
  auto const end =
      start + std::chrono::duration_cast<clock::duration>((clock::now() - start) * factor);
  constexpr auto worth_sleeping = std::chrono::microseconds(200);
  if (end - clock::now() > worth_sleeping) {
    std::this_thread::sleep_until(end - worth_sleeping / 2);
  }
  while (clock::now() < end) { base::pause(); }
}

CUresult run(launch_kernel& launch, launch_site const& site, bool reversed = false) {
  std::uint64_t const blocks =
      std::uint64_t{launch.grid_size.x} * launch.grid_size.y * launch.grid_size.z;
  block_placement& placement = site.placement;
  bool const ordered = is_ordered_twin(*launch.kernel);
  grid const whole{
      .image = launch.image,
      .kernel = launch.kernel,
      .grid_size = launch.grid_size,
      .block_size = launch.block_size,
      .dynamic_shared_bytes = launch.dynamic_shared_bytes,
      .stack_bytes = site.context.limits.stack_bytes(),
      .arguments = argument_addresses(launch),
      .hooks = hooks_of(site.context),
      .multiprocessors = placement.allowed,
      .first_place = std::exchange(placement.next, placement.next + blocks),
      .twin_of = launch.image->twin_of(*launch.kernel),
      .ordered = ordered,
      // The blocks of an ordered twin wait for earlier blocks.
      .reversed = reversed && !ordered,
      .device = site.device,
  };
  switch (run_grid(whole)) {
    case grid_end::completed: return CUDA_SUCCESS;
    case grid_end::trapped: return CUDA_ERROR_LAUNCH_FAILED;
    case grid_end::assert_failed: return CUDA_ERROR_ASSERT;
  }
  return CUDA_ERROR_UNKNOWN;
}

CUresult run_injected(launch_kernel& launch, launch_site const& site) {
  CUresult const fault = injection::next_kernel(site.device);
  if (fault != CUDA_SUCCESS) { return fault; }
  injection::hang_kernel(site.device);
  // Who ends a kernel that hangs must not see its effects.
  if (CUresult const lost = fault::status(site.device)) { return lost; }
  double const factor = injection::slowness(site.device);
  auto const start = clock::now();
  CUresult const status = run(launch, site, injection::reverses_blocks(site.device));
  if (factor > 1) { take_longer(start, factor); }
  return status;
}

}  // namespace

CUresult run_launch(launch_kernel& launch, launch_site const& site) noexcept {
  try {
    return injection::armed() ? run_injected(launch, site) : run(launch, site);
  } catch (...) {
    // The host is out of memory, or the kernel threw an exception. The grid is incomplete, and the
    // effects of the blocks that have run cannot be undone. So this is a sticky fault.
    return CUDA_ERROR_LAUNCH_FAILED;
  }
}

}  // namespace flotilla::cpu_driver

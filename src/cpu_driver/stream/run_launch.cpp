#include "cpu_driver/run_launch.hpp"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "cpu_driver/context.hpp"
#include "cpu_driver/device.hpp"
#include "cpu_driver/grid.hpp"
#include "cpu_driver/injection.hpp"
#include "cpu_driver/pause.hpp"

namespace flotilla::cpu_driver {
namespace {

using clock = std::chrono::steady_clock;

// As pointers, which is what a kernel's entry takes. One vector a device thread, for its capacity.
void* const* point_to_arguments(launch_kernel& todo) {
  thread_local std::vector<void*> addresses;
  cpu::kernel_record const& kernel = *todo.kernel;
  addresses.resize(kernel.parameter_count);
  for (std::uint32_t i = 0; i < kernel.parameter_count; ++i) {
    addresses[i] = todo.arguments + kernel.parameter_offsets[i];
  }
  return addresses.data();
}

grid_hooks hooks_of(context& owner) noexcept {
  return {
      .user = &owner,
      .allocate =
          [](void* user, std::size_t bytes) {
            return static_cast<context*>(user)->heap().allocate(bytes);
          },
      .release = [](void* user,
                    void* address) { static_cast<context*>(user)->heap().release(address); },
      .print = [](void* user, char const* text,
                  std::size_t bytes) { static_cast<context*>(user)->fifo().print(text, bytes); },
  };
}

void take_longer(clock::time_point start, double factor) {
  auto const end =
      start + std::chrono::duration_cast<clock::duration>((clock::now() - start) * factor);
  constexpr auto worth_sleeping = std::chrono::microseconds(200);
  if (end - clock::now() > worth_sleeping) {
    std::this_thread::sleep_until(end - worth_sleeping / 2);
  }
  while (clock::now() < end) { pause(); }
}

CUresult run(launch_kernel& todo, context& owner, device& home) {
  block_placement& placement = home.placement();
  std::uint64_t const blocks =
      std::uint64_t{todo.grid_size.x} * todo.grid_size.y * todo.grid_size.z;
  grid const whole{
      .image = todo.image,
      .kernel = todo.kernel,
      .grid_size = todo.grid_size,
      .block_size = todo.block_size,
      .dynamic_shared_bytes = todo.dynamic_shared_bytes,
      .stack_bytes = owner.limits().stack_bytes(),
      .arguments = point_to_arguments(todo),
      .hooks = hooks_of(owner),
      .multiprocessors = placement.allowed,
      .first_place = std::exchange(placement.next, placement.next + blocks),
  };
  switch (run_grid(whole)) {
    case grid_end::completed: return CUDA_SUCCESS;
    case grid_end::trapped: return CUDA_ERROR_LAUNCH_FAILED;
    case grid_end::assert_failed: return CUDA_ERROR_ASSERT;
  }
  return CUDA_ERROR_UNKNOWN;
}

CUresult run_injected(launch_kernel& todo, context& owner, device& home) {
  CUresult const fault = injection::next_kernel(home.ordinal());
  if (fault != CUDA_SUCCESS) { return fault; }
  double const factor = injection::slowness(home.ordinal());
  auto const start = clock::now();
  CUresult const status = run(todo, owner, home);
  if (factor > 1) { take_longer(start, factor); }
  return status;
}

}  // namespace

CUresult run_launch(launch_kernel& todo, context& owner, device& home) noexcept {
  try {
    return injection::armed() ? run_injected(todo, owner, home) : run(todo, owner, home);
  } catch (...) {
    // No memory for fibers or an exception out of a kernel: the grid has not run, and cannot be
    // undone.
    return CUDA_ERROR_LAUNCH_FAILED;
  }
}

}  // namespace flotilla::cpu_driver

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The output of a block: the text that its threads print, and error messages on stderr.
#include <cstdio>

#include "base/log.hpp"
#include "cpu_driver/kernel/block.hpp"
#include "cpu_driver/kernel/device_printf.hpp"

namespace flotilla::cpu_driver {

int block_runner::print(char const* format, std::va_list arguments) {
  return device_printf(grid_->hooks, format, arguments);
}

void block_runner::report_assert(char const* expression, char const* file, unsigned line,
                                 char const* function) const {
  cpu::index3 const b = services_.block_index;
  cpu::index3 const t = services_.thread_index;
  std::fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
               file, line, function, b.x, b.y, b.z, t.x, t.y, t.z, expression);
}

void block_runner::complain(char const* what) const {
  cpu::index3 const b = services_.block_index;
  cpu::index3 const t = services_.thread_index;
  base::log_format(log_level::error, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u): %s",
                   grid_->kernel->name, b.x, b.y, b.z, t.x, t.y, t.z, what);
}

void block_runner::report_deadlock() const {
  std::uint32_t in_warps = 0;
  for (std::uint32_t w = 0; w * cpu::warp_lanes < services_.thread_count; ++w) {
    in_warps += static_cast<std::uint32_t>(__builtin_popcount(warps_[w].waiting));
  }
  cpu::index3 const b = services_.block_index;
  base::log_format(log_level::error,
                   "kernel %s, block (%u,%u,%u) is deadlocked: of its %u threads, %u wait "
                   "at __syncthreads, %u wait in warp operations, and %u have exited",
                   grid_->kernel->name, b.x, b.y, b.z, services_.thread_count, barrier_arrived_,
                   in_warps, services_.exited_count);
}

}  // namespace flotilla::cpu_driver

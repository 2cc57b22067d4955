// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/kernel/grid.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "cpu_driver/kernel/block.hpp"
#include "cpu_driver/kernel/grid_helpers.hpp"

namespace flotilla::cpu_driver {
namespace {

using clock = std::chrono::steady_clock;

// If the remaining blocks need less time than this on one thread, the grid ends sooner without
// helpers. Waking a worker costs several microseconds, both on the waking thread and on the worker.
constexpr std::chrono::nanoseconds worth_helping{20'000};
// A thread takes several blocks at once: as many as it can run in about this time. Taking them from
// the shared counter costs two cache misses, which is little in comparison.
constexpr std::chrono::nanoseconds work_at_a_time{10'000};

}  // namespace

grid_end run_grid(grid const& what) {
  block_runner* const own = block_runner::of_this_thread();
  if (own == nullptr || !own->begin(what)) { return grid_end::trapped; }
  block_runner& runner = *own;
  std::uint64_t const total = std::uint64_t{what.grid_size.x} * what.grid_size.y * what.grid_size.z;
  std::atomic<grid_end> const end{grid_end::completed};  // no other thread runs blocks yet
  if (total == 1) { return run_block(runner, what, 0, 1, end); }

  // This thread runs blocks alone until the measured time shows that helpers would be faster. It
  // reads the clock after 1, 2, 4 ... 64, 128, 192 ... blocks.
  auto const start = clock::now();
  std::uint64_t look_again = 1;
  for (std::uint64_t done = 0; done < total;) {
    grid_end const how = run_block(runner, what, done, total, end);
    if (how != grid_end::completed) { return how; }
    if (++done < look_again || done == total) { continue; }
    look_again += std::min<std::uint64_t>(look_again, 64);
    int const max_helpers =
        std::min(max_helpers_on_machine(), static_cast<int>(what.multiprocessors->size()) - 1);
    if (max_helpers == 0) { continue; }
    auto const a_block =
        std::max<std::int64_t>((clock::now() - start).count() / static_cast<std::int64_t>(done), 1);
    std::uint64_t const left = total - done;
    if (left < static_cast<std::uint64_t>(worth_helping.count() / a_block)) { continue; }

    auto const threads = static_cast<std::uint64_t>(max_helpers) + 1;
    std::uint64_t const by_time = static_cast<std::uint64_t>(work_at_a_time.count() / a_block);
    std::uint64_t const by_share =
        left / (4 * threads);  // small shares, so all threads finish at about the same time
    shared_blocks blocks{what, total, std::max<std::uint64_t>(std::min(by_time, by_share), 1), done,
                         max_helpers};
    work_with_helpers(blocks);
    return blocks.end;
  }
  return grid_end::completed;
}

}  // namespace flotilla::cpu_driver

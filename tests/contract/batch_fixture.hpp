// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of tests on batches. The tests launch counting kernels on one device without workers.
// The batches are graphs; grid_test.cpp tests batches that are grids.

#include <flotilla/flotilla.hpp>

#include <cstdint>
#include <vector>

#include "support/batch_count.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {

class batch_test : public guest_test {
 protected:
  static constexpr unsigned tasks = 200;
  static runtime_options options() {
    return {.devices = device_spec(1), .workers = 0, .fuse_launches = false};
  }

  /// Submits one task per counter and waits for all tasks.
  /// @return one element per task: true if the task failed.
  static std::vector<bool> run(runtime& rt, kernel<std::uint32_t*, std::uint32_t> const& count,
                               device_buffer<std::uint32_t>& counters) {
    std::vector<ticket> open;
    for (unsigned i = 0; i < tasks; ++i) {
      open.push_back(rt.submit(count.with_shape({1}, {1})(counters, i)));
    }
    std::vector<bool> failed;
    for (ticket const& each : open) {
      try {
        each.wait();
        failed.push_back(false);
      } catch (driver_error const& error) {
        EXPECT_EQ(error.status(), driver_status::launch_out_of_resources) << error.what();
        failed.push_back(true);
      }
    }
    return failed;
  }
  /// Calls `run` 20 times, so that batches grow to their full size.
  static void grow_batches(runtime& rt, kernel<std::uint32_t*, std::uint32_t> const& count,
                           device_buffer<std::uint32_t>& counters) {
    for (int i = 0; i < 20; ++i) { static_cast<void>(run(rt, count, counters)); }
  }
  static std::vector<std::uint32_t> read(runtime& rt, device_buffer<std::uint32_t> const& from) {
    std::vector<std::uint32_t> host(from.size());
    rt.submit(from.copy_to(host)).wait();
    return host;
  }
};

}  // namespace flotilla::test

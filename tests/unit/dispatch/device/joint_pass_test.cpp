// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// One thread drives devices whose tasks depend on each other (joint_pass).

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <flotilla/flotilla.hpp>

#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

constexpr unsigned width = 16;

class JointPass : public ::testing::Test {
 protected:
  /// Submits steps in which each task follows its neighbours in the step before. Each device has a
  /// part of the points. Waits for all tasks, and drives the devices meanwhile.
  void run(unsigned steps) {
    std::vector<ticket> before, now;
    auto const devices = static_cast<unsigned>(rt_.devices().size());
    for (unsigned step = 0; step < steps; ++step) {
      for (unsigned point = 0; point < width; ++point) {
        task_options how{.device = device_ordinal{point * devices / width}};
        for (unsigned near = point == 0 ? 0 : point - 1;
             step != 0 && near < std::min(point + 2, width); ++near) {
          how.after.add(before[near]);
        }
        now.push_back(
            rt_.submit(program_.step.with_shape({1}, {1})(words_.data() + point, 3u, step), how));
      }
      before = std::move(now);
      now.clear();
    }
    for (ticket const& each : before) { each.wait(); }
    rt_.wait_idle();
  }
  [[nodiscard]] std::uint64_t batches() const {
    std::uint64_t sum = 0;
    for (device const& each : rt_.devices()) { sum += rt_.counters(each).batches; }
    return sum;
  }

  runtime rt_{{.devices = "cpu:2", .workers = 0}};
  test_program program_{rt_};
  host_buffer<std::uint32_t> words_{rt_, width};
};

// requirement: the tasks of a step that run on one device share a launch, although they follow
// tasks of the other device
TEST_F(JointPass, TasksOfAStepShareALaunchOnEachDevice) {
  for (int i = 0; i < 4; ++i) { run(8); }  // until the kernel is measured
  constexpr unsigned steps = 60;
  // A thread that is interrupted for a millisecond begins alone again, so the best of some runs.
  std::uint64_t best = ~std::uint64_t{0};
  for (int i = 0; i < 6; ++i) {
    std::uint64_t const before = batches();
    run(steps);
    best = std::min(best, batches() - before);
  }
  // Two launches for each step, and some more if an interruption divides steps. If each device were
  // driven alone, there would be twelve for each step.
  EXPECT_LE(best, 3 * steps);
}

}  // namespace
}  // namespace flotilla::test

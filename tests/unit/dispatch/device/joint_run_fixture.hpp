// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steps of tasks over several devices, for the tests of joint_run.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/inside.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {

struct how_made {
  unsigned devices = 2;      // with tasks
  unsigned all_devices = 0;  // of the runtime; 0: the same
  int workers = 0;
  dispatch::order_use use = dispatch::order_use::always;
  bool may_wait = true;  // the setting "device_side_waits"
};

class JointRun : public guest_test {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_DEVICES(2);
    guest_test::SetUp();
  }

  /// Rows of points. Each device has a part of the points. The task of a point copies the point
  /// behind it in the row before, so a task that runs too early copies a zero.
  struct rows {
    how_made how;
    unsigned width;
    runtime rt;
    test_program program{rt};
    host_buffer<std::uint32_t> words;
    std::uint32_t steps = 0;  // that were submitted
    std::vector<std::vector<ticket>> tickets{};

    explicit rows(unsigned count, how_made const& with = {}, unsigned max_steps = 200)
        : how{with},
          width{count},
          rt{make_runtime(
              {.devices = device_spec(static_cast<int>(std::max(how.devices, how.all_devices))),
               .workers = how.workers,
               .settings = settings::parse(how.may_wait ? "" : "device_side_waits=false"),
               .fuse_launches = true},
              {.kernel_ns = 5'000, .ordered_grids = how.use})},
          words{rt, std::size_t{count} * (max_steps + 1)} {
      clear();
    }
    void clear() {
      std::fill_n(words.data(), words.size(), 0);
      for (unsigned i = 0; i < width; ++i) { words[i] = i + 1; }
      steps = 0;
      tickets.clear();
    }
    [[nodiscard]] device_ordinal device_of(unsigned point) const {
      return device_ordinal{point * how.devices / width};
    }
    /// Submits steps in which each task runs after `predecessors` points.
    /// @param first  If not null, the tasks of the first of these steps follow it too.
    void submit(unsigned count, unsigned predecessors, ticket const* first = nullptr) {
      for (unsigned step = 0; step < count; ++step) {
        std::uint32_t* const from = words.data() + std::size_t{steps} * width;
        std::vector<ticket> next(width);
        for (unsigned i = 0; i < width; ++i) {
          task_options to{.device = device_of(i)};
          for (unsigned k = 0; k < predecessors && !tickets.empty(); ++k) {
            to.after.add(tickets.back()[(i + 1 + k) % width]);
          }
          if (step == 0 && first != nullptr) { to.after.add(*first); }
          next[i] = rt.submit(
              program.copy.with_shape({1}, {1})(from + width + i, from + (i + 1) % width), to);
        }
        tickets.push_back(std::move(next));
        ++steps;
      }
    }
    /// The words of the last row, if every task has run after its predecessors.
    [[nodiscard]] std::vector<std::uint32_t> expected() const {
      std::vector<std::uint32_t> all;
      for (unsigned i = 0; i < width; ++i) { all.push_back((i + steps) % width + 1); }
      return all;
    }
    [[nodiscard]] std::vector<std::uint32_t> last_row() const {
      auto const* const first = words.data() + std::size_t{steps} * width;
      return {first, first + width};
    }
    /// Waits for all tasks. @return whether all of them ran.
    bool finish() {
      bool all_ran = true;
      for (auto const& row : tickets) {
        for (ticket const& each : row) {
          try {
            each.wait();
          } catch (error const&) { all_ran = false; }
        }
      }
      rt.wait_idle();
      return all_ran;
    }
    [[nodiscard]] std::uint64_t launches() const {
      std::uint64_t sum = 0;
      for (device const& each : rt.devices()) { sum += rt.counters(each).batches; }
      return sum;
    }
  };
};

}  // namespace flotilla::test

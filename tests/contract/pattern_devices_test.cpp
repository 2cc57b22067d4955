// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Graphs of tasks that cross between devices in every step. Each task adds the values of its
// predecessors, so the values show the order.

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

/// What a test does with a task beside its launch.
enum class task_kinds {
  plain,
  refused,    // the driver refuses the launch
  cancelled,  // the task is cancelled after it was submitted; it may run nevertheless
  callable,   // a callable comes between the task and its successors
  copy,       // a copy comes between the task and its successors
};

class PatternOverDevices : public contract_test {
 protected:
  /// The argument of the kernel `add_sources`.
  struct sources {
    std::uint32_t count = 0;
    std::uint32_t index[8] = {};
  };
  using pattern = std::function<std::vector<unsigned>(unsigned step, unsigned i)>;

  /// Submits steps of `width` tasks, each device a part of them. Checks all values.
  void run(
      unsigned width, unsigned steps, pattern const& predecessors,
      std::function<task_kinds()> const& kind_of = [] { return task_kinds::plain; }) {
    auto const add = program().loaded.kernel<std::uint32_t*, std::uint32_t, sources>("add_sources");
    // Every device can access pinned memory.
    host_buffer<std::uint32_t> values{rt(), width * steps};
    std::fill(values.begin(), values.end(), 0u);
    std::vector<device_word> copies;
    for (device_ordinal const each : ordinals()) { copies.emplace_back(rt(), each); }
    std::vector<ticket> tickets(width * steps), between(width * steps);
    std::vector<sources> from(width * steps);
    std::vector<bool> fails(width * steps, false);
    std::vector<bool> may_fail(width * steps, false);
    for (unsigned task = 0; task < width * steps; ++task) {
      unsigned const step = task / width;
      unsigned const point = task % width;
      std::size_t const part = point * copies.size() / width;
      device_ordinal const device = ordinals()[part];
      task_kinds const kind = kind_of();
      dependency_list after;
      for (unsigned const each : step == 0 ? std::vector<unsigned>{} : predecessors(step, point)) {
        unsigned const ahead = (step - 1) * width + each;
        from[task].index[from[task].count++] = ahead;
        after.add(between[ahead].valid() ? between[ahead] : tickets[ahead]);
        fails[task] = fails[task] || fails[ahead];
        may_fail[task] = may_fail[task] || may_fail[ahead];
      }
      unsigned const shared_bytes = kind == task_kinds::refused ? 64u << 20 : 0;
      tickets[task] =
          rt().submit(add.with_shape({1}, {1}, shared_bytes)(values.data(), task, from[task]),
                      {.device = device, .after = std::move(after)});
      fails[task] = fails[task] || kind == task_kinds::refused;
      if (kind == task_kinds::cancelled) {
        tickets[task].cancel();
        may_fail[task] = true;
      } else if (kind == task_kinds::callable) {
        between[task] =
            rt().submit([](task_context&) {}, {.device = device, .after = {tickets[task]}});
      } else if (kind == task_kinds::copy) {
        between[task] = rt().submit(copies[part].buffer().copy_from(values.subspan(task, 1)),
                                    {.after = {tickets[task]}});
      }
    }
    for (unsigned task = 0; task < width * steps; ++task) {
      bool failed = false;
      try {
        tickets[task].wait();
        if (between[task].valid()) { between[task].wait(); }
      } catch (error const&) { failed = true; }
      if (!may_fail[task]) { EXPECT_EQ(failed, fails[task]) << "task " << task; }
      if (failed) { continue; }
      std::uint32_t sum = 1;
      for (unsigned i = 0; i < from[task].count; ++i) { sum += values[from[task].index[i]]; }
      EXPECT_EQ(values[task], sum) << "task " << task;
    }
  }

  static pattern stencil(unsigned width) {
    return [width](unsigned, unsigned i) {
      std::vector<unsigned> made{i};
      if (i > 0) { made.push_back(i - 1); }
      if (i + 1 < width) { made.push_back(i + 1); }
      return made;
    };
  }
  static pattern random(unsigned width, std::mt19937& engine) {
    return [width, &engine](unsigned, unsigned) {
      std::vector<unsigned> made;
      for (unsigned k = 1 + engine() % 5; k > 0; --k) {
        unsigned const point = engine() % width;
        if (std::ranges::find(made, point) == made.end()) { made.push_back(point); }
      }
      return made;
    };
  }
};
FLOTILLA_CONTRACT(PatternOverDevices);

// requirement
TEST_P(PatternOverDevices, StencilKeepsItsOrder) {
  for (unsigned const width : {4u, 16u, 70u}) {
    for (int round = 0; round < 3; ++round) { run(width, 40, stencil(width)); }
  }
}

// requirement
TEST_P(PatternOverDevices, ButterflyKeepsItsOrder) {
  for (int round = 0; round < 3; ++round) {
    run(16, 60, [](unsigned step, unsigned i) {
      return std::vector<unsigned>{i, i ^ (1u << (step % 4))};
    });
  }
}

// requirement
TEST_P(PatternOverDevices, OneDirectionKeepsItsOrder) {
  for (int round = 0; round < 3; ++round) {
    run(12, 40, [](unsigned, unsigned i) {
      return i == 0 ? std::vector<unsigned>{0} : std::vector<unsigned>{i, i - 1};
    });
  }
}

// requirement
TEST_P(PatternOverDevices, RandomGraphsKeepTheirOrder) {
  std::mt19937 engine{23};
  for (int round = 0; round < 4; ++round) { run(24, 30, random(24, engine)); }
}

// requirement: if the driver refuses some launches, exactly these tasks and their successors on all
// devices fail
TEST_P(PatternOverDevices, RefusedLaunchesFailOnlyTheirSuccessors) {
  std::mt19937 engine{24};
  run(16, 20, stencil(16));  // so that the kernel is measured
  for (int round = 0; round < 4; ++round) {
    run(16, 20, stencil(16),
        [&] { return engine() % 97 == 0 ? task_kinds::refused : task_kinds::plain; });
  }
}

// requirement: a task that was cancelled has no effect on others than its successors
TEST_P(PatternOverDevices, CancelledTasksFailOnlyTheirSuccessors) {
  std::mt19937 engine{25};
  run(16, 20, stencil(16));
  for (int round = 0; round < 4; ++round) {
    run(16, 20, stencil(16),
        [&] { return engine() % 41 == 0 ? task_kinds::cancelled : task_kinds::plain; });
  }
}

// requirement: callables and copies between the steps keep their places
TEST_P(PatternOverDevices, CallablesAndCopiesKeepTheirOrder) {
  std::mt19937 engine{26};
  run(16, 20, stencil(16));
  for (int round = 0; round < 4; ++round) {
    run(16, 20, random(16, engine), [&] {
      unsigned const number = engine() % 60;
      return number == 0 ? task_kinds::callable : number < 3 ? task_kinds::copy : task_kinds::plain;
    });
  }
}

}  // namespace
}  // namespace flotilla::test

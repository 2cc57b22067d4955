// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Graphs of tasks with several predecessors and successors: every task runs after all of its
// predecessors. Each task adds the values of its predecessors, so the values show the order.

#include <array>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

constexpr unsigned max_sources = 8;

/// The argument of the kernel `add_sources`.
struct sources {
  std::uint32_t count = 0;
  std::uint32_t index[max_sources] = {};
};

/// Returns the predecessors of point `i` of a step: points of the step before, each at most once.
using pattern = std::function<std::vector<unsigned>(unsigned step, unsigned i, unsigned width)>;

class Pattern : public contract_test {
 protected:
  /// Submits steps of `width` tasks each. Checks all values and returns how many tasks failed.
  /// @param is_refused  Whether the driver refuses the launch of this task.
  void run(pattern const& predecessors, unsigned width, unsigned steps,
           std::function<bool(unsigned)> const& is_refused = {}) {
    unsigned const tasks = width * steps;
    auto const add = program().loaded.kernel<std::uint32_t*, std::uint32_t, sources>("add_sources");
    device_buffer<std::uint32_t> values{rt(), last(),
                                        std::vector<std::uint32_t>(tasks, 1'000'000'000)};
    std::vector<ticket> tickets;
    std::vector<std::uint32_t> expected(tasks, 1'000'000'000);
    std::vector<bool> fails(tasks, false);
    for (unsigned task = 0; task < tasks; ++task) {
      unsigned const step = task / width;
      sources from;
      dependency_list after;
      std::uint32_t sum = 1;
      for (unsigned const point :
           step == 0 ? std::vector<unsigned>{} : predecessors(step, task % width, width)) {
        unsigned const ahead = (step - 1) * width + point;
        from.index[from.count++] = ahead;
        after.add(tickets[ahead]);
        sum += expected[ahead];
        fails[task] = fails[task] || fails[ahead];
      }
      bool const refused = is_refused && is_refused(task);
      fails[task] = fails[task] || refused;
      if (!fails[task]) { expected[task] = sum; }
      tickets.push_back(
          rt().submit(add.with_shape({1}, {1}, refused ? 64u << 20 : 0)(values, task, from),
                      {.after = std::move(after)}));
    }
    for (unsigned task = 0; task < tasks; ++task) {
      if (fails[task]) {
        EXPECT_THROW(tickets[task].wait(), error) << "task " << task;
      } else {
        EXPECT_NO_THROW(tickets[task].wait()) << "task " << task;
      }
    }
    std::vector<std::uint32_t> seen(tasks);
    rt().submit(values.copy_to(std::span{seen}), {}).wait();
    EXPECT_EQ(seen, expected);
  }

  static std::vector<unsigned> stencil(unsigned, unsigned i, unsigned width) {
    std::vector<unsigned> made{i};
    if (i > 0) { made.push_back(i - 1); }
    if (i + 1 < width) { made.push_back(i + 1); }
    return made;
  }
};
FLOTILLA_CONTRACT(Pattern);

// requirement
TEST_P(Pattern, ChainsSideBySideKeepTheirOrder) {
  for (unsigned const width : {1u, 2u, 5u, 40u}) {
    run([](unsigned, unsigned i, unsigned) { return std::vector<unsigned>{i}; }, width, 30);
  }
}

// requirement
TEST_P(Pattern, StencilKeepsItsOrder) {
  for (unsigned const width : {2u, 3u, 16u, 70u}) { run(stencil, width, 30); }
}

// requirement
TEST_P(Pattern, ButterflyKeepsItsOrder) {
  run(
      [](unsigned step, unsigned i, unsigned) {
        return std::vector<unsigned>{i, i ^ (1u << (step % 4))};
      },
      16, 40);
}

// requirement
TEST_P(Pattern, TreesKeepTheirOrder) {
  // All points depend on half of them, in turn on the lower and on the upper half.
  run([](unsigned step, unsigned i,
         unsigned width) { return std::vector<unsigned>{i / 2 + (step % 2) * width / 2}; },
      32, 20);
}

// requirement
TEST_P(Pattern, RandomGraphsKeepTheirOrder) {
  std::mt19937 random{17};
  for (int round = 0; round < 4; ++round) {
    run(
        [&random](unsigned, unsigned, unsigned width) {
          std::vector<unsigned> made;
          for (unsigned k = random() % 6; k > 0; --k) {
            unsigned const point = static_cast<unsigned>(random() % width);
            if (std::find(made.begin(), made.end(), point) == made.end()) { made.push_back(point); }
          }
          return made;
        },
        24, 25);
  }
}

// requirement: if the driver refuses some launches, exactly these tasks and their successors fail
TEST_P(Pattern, RefusedLaunchesFailOnlyTheirSuccessors) {
  std::mt19937 random{18};
  run(stencil, 16, 12, [&random](unsigned) { return random() % 37 == 0; });
  run([](unsigned, unsigned i, unsigned) { return std::vector<unsigned>{i}; }, 12, 20,
      [&random](unsigned) { return random() % 29 == 0; });
}

// requirement: a task may have a thousand predecessors, and a thousand successors
TEST_P(Pattern, WideFanInAndFanOut) {
  constexpr std::uint32_t width = 1000;
  device_word value{rt(), last()};
  for (int round = 0; round < 3; ++round) {
    ticket const root = rt().submit(program().add.with_shape({1}, {1})(value.buffer(), 1u), {});
    std::vector<ticket> middle;
    dependency_list all;
    for (std::uint32_t i = 0; i < width; ++i) {
      middle.push_back(
          rt().submit(program().add.with_shape({1}, {1})(value.buffer(), 1u), {.after = {root}}));
      all.add(middle.back());
    }
    ticket const end = rt().submit(
        program().step.with_shape({1}, {1})(value.buffer(), 0u, static_cast<std::uint32_t>(round)),
        {.after = all});
    EXPECT_EQ(value.read({end}), static_cast<std::uint32_t>(round));
  }
}

// requirement: chains that cross between two devices keep their order
TEST_P(Pattern, ChainsThatCrossDevicesKeepTheirOrder) {
  constexpr unsigned width = 8;
  std::vector<device_word> words;
  for (unsigned i = 0; i < width; ++i) {
    words.emplace_back(rt(), i % 2 == 0 ? first() : last(), 1u);
  }
  std::vector<ticket> tickets;
  for (unsigned step = 0; step < 30; ++step) {
    std::vector<ticket> next;
    for (unsigned i = 0; i < width; ++i) {
      dependency_list after;
      if (step != 0) {
        after.add(tickets[i]);
        after.add(tickets[(i + 1) % width]);
      }
      next.push_back(rt().submit(program().step.with_shape({1}, {1})(words[i].buffer(), 3u, step),
                                 {.after = after}));
    }
    tickets = std::move(next);
  }
  std::uint32_t expected = 1;
  for (unsigned step = 0; step < 30; ++step) { expected = expected * 3 + step; }
  for (unsigned i = 0; i < width; ++i) { EXPECT_EQ(words[i].read({tickets[i]}), expected); }
}

}  // namespace
}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Recordings whose tasks run as grids compute the same as recordings whose tasks are nodes of their
// own.

#include <algorithm>
#include <random>
#include <vector>

#include "contract/recording_fixture.hpp"

namespace flotilla::test {
namespace {

/// A recording of random tasks, and a model of it that runs on the host. Each task owns a word. It
/// changes its own word only, and may read the word of a predecessor.
class random_tasks {
 public:
  struct options {
    std::uint32_t tasks, width, most_ahead;
    std::vector<device_ordinal> devices;
  };
  random_tasks(runtime& rt, test_program& program, std::mt19937& random, options const& how)
      : program_{program}, random_{random}, words_{rt, how.tasks}, model_(how.tasks), steps_{rt} {
    for (std::uint32_t i = 0; i < how.tasks; ++i) {
      words_[i] = model_[i] = i;
      task made;
      std::uint32_t const level = i / how.width;
      for (std::uint32_t k = 0; level != 0 && k < how.most_ahead; ++k) {
        // Mostly a task of the level before, now and then one of an earlier level.
        std::uint32_t const from = below(5) == 0 ? below(level) : level - 1;
        made.after.push_back(from * how.width + below(how.width));
      }
      made.kind = below(8) == 0 ? kinds::nothing : static_cast<kinds>(below(3));
      refill(made);
      recorded_options where{.device = how.devices[below(10) == 0 ? below(how.devices.size()) : 0]};
      for (std::uint32_t const each : made.after) { where.after.add(tasks_[each].name); }
      made.name = steps_.add(launch_of(i, made), where);
      tasks_.push_back(std::move(made));
    }
  }

  /// Gives some tasks other arguments, and a few of them another kernel or another size.
  void set_some() {
    std::uint32_t const step = 1 + below(1 + below(50));
    for (std::uint32_t i = below(step); i < tasks_.size(); i += step) {
      if (below(100) == 0) { tasks_[i].kind = static_cast<kinds>(below(4)); }
      refill(tasks_[i]);
      steps_.set(tasks_[i].name, launch_of(i, tasks_[i]));
    }
  }
  [[nodiscard]] ticket replay() {
    for (std::uint32_t i = 0; i < tasks_.size(); ++i) { run(i); }
    return steps_.replay();
  }
  /// Compares all words with the model. No replay may be open.
  void check(char const* when) const {
    for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
      ASSERT_EQ(words_[i], model_[i]) << "task " << i << ", " << when;
    }
  }
  [[nodiscard]] std::uint32_t below(std::size_t end) {
    return static_cast<std::uint32_t>(random_() % end);
  }

 private:
  enum class kinds { step, add, copy, nothing };
  struct task {
    kinds kind = kinds::nothing;
    std::uint32_t factor = 0, summand = 0, from = 0, blocks = 1, threads = 1;
    std::vector<std::uint32_t> after{};
    recorded_task name{};
  };

  void refill(task& one) {
    one.factor = 3 + below(5);
    one.summand = below(100);
    if (below(20) == 0) { one.blocks = 1 + below(3); }
    if (below(200) == 0) { one.threads = 1 + below(2); }
    if (one.kind == kinds::copy && one.after.empty()) { one.kind = kinds::step; }
    if (!one.after.empty()) { one.from = one.after[below(one.after.size())]; }
  }
  [[nodiscard]] launch launch_of(std::uint32_t i, task const& what) {
    std::uint32_t* const own = words_.data() + i;
    switch (what.kind) {
      case kinds::step: return program_.step.with_shape({1}, {1})(own, what.factor, what.summand);
      case kinds::add:
        return program_.add.with_shape({what.blocks}, {what.threads})(own, what.summand);
      case kinds::copy: return program_.copy.with_shape({1}, {1})(own, words_.data() + what.from);
      case kinds::nothing: break;
    }
    return program_.nothing.with_shape({what.blocks}, {1})();
  }
  void run(std::uint32_t i) {
    task const& what = tasks_[i];
    switch (what.kind) {
      case kinds::step: model_[i] = model_[i] * what.factor + what.summand; break;
      case kinds::add: model_[i] += what.summand * what.blocks * what.threads; break;
      case kinds::copy: model_[i] = model_[what.from]; break;
      case kinds::nothing: break;
    }
  }

  test_program& program_;
  std::mt19937& random_;
  host_buffer<std::uint32_t> words_;
  std::vector<std::uint32_t> model_;
  recording steps_;
  std::vector<task> tasks_;
};

class RecordingGrids : public recording_test {};
FLOTILLA_CONTRACT(RecordingGrids);

// requirement: random recordings give the same results with and without grids. Random tasks change
// between replays, while replays are in flight
TEST_P(RecordingGrids, RandomRecordingsGiveTheSameResults) {
  for (bool const fuse : {true, false}) {
    runtime_options how = options();
    how.fuse_launches = fuse;
    runtime own{how};
    test_program kernels{own};
    std::mt19937 random{5};
    for (std::uint32_t const width : {1u, 7u, 30u, 300u}) {
      random_tasks tasks{own, kernels, random, {300, width, 1 + width % 4, ordinals()}};
      std::vector<ticket> open;
      for (int replay = 0; replay < 30; ++replay) {
        if (tasks.below(4) != 0) { tasks.set_some(); }
        open.push_back(tasks.replay());
        if (tasks.below(8) != 0) { continue; }
        for (ticket const& each : open) { each.wait(); }
        open.clear();
        tasks.check(fuse ? "with grids" : "without grids");
        if (HasFatalFailure()) { return; }
      }
      for (ticket const& each : open) { each.wait(); }
      tasks.check(fuse ? "with grids" : "without grids");
      if (HasFatalFailure()) { return; }
    }
  }
}

// requirement: all replays in flight keep their own arguments, even if all arguments change before
// each of them
TEST_P(RecordingGrids, ReplaysInFlightKeepTheirArguments) {
  constexpr std::uint32_t tasks = 50, replays = 9;
  host_buffer<std::uint32_t> values{rt(), tasks};
  std::fill_n(values.data(), tasks, 0u);
  auto const digit = [&](std::uint32_t i, std::uint32_t value) {
    return program().step.with_shape({1}, {1})(values.data() + i, 10u, value);
  };
  recording steps{rt()};
  std::vector<recorded_task> all;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    all.push_back(steps.add(digit(i, 0), {.device = last()}));
  }
  held_word held{rt()};
  ticket const head = rt().submit(held.launch_of(program()), {.device = last()});
  ticket done;
  for (std::uint32_t value = 1; value <= replays; ++value) {
    for (std::uint32_t i = 0; i < tasks; ++i) { steps.set(all[i], digit(i, value)); }
    done = steps.replay({.after = {head}});
  }
  EXPECT_EQ(values[0], 0u);
  held.release();
  done.wait();
  for (std::uint32_t i = 0; i < tasks; ++i) { EXPECT_EQ(values[i], 123456789u) << i; }
}

// requirement: a recording may be destroyed while replays are in flight that use changed records
TEST_P(RecordingGrids, RecordsLiveUntilTheLastReplayHasEnded) {
  constexpr std::uint32_t tasks = 20;
  host_buffer<std::uint32_t> values{rt(), tasks};
  std::fill_n(values.data(), tasks, 0u);
  held_word held{rt()};
  ticket done;
  {
    recording steps{rt()};
    std::vector<recorded_task> all;
    auto const adding = [&](std::uint32_t i, std::uint32_t amount) {
      return program().add.with_shape({1}, {1})(values.data() + i, amount);
    };
    for (std::uint32_t i = 0; i < tasks; ++i) {
      all.push_back(steps.add(adding(i, 1), {.device = last()}));
    }
    ticket const head = rt().submit(held.launch_of(program()), {.device = last()});
    for (std::uint32_t replay = 0; replay < 4; ++replay) {
      steps.set(all[replay], adding(replay, 100));
      done = steps.replay({.after = {head}});
    }
  }
  // Another recording must not get the memory of the records. It can be made and replayed while a
  // kernel waits for the host.
  recording other{rt()};
  for (std::uint32_t i = 0; i < tasks; ++i) {
    static_cast<void>(other.add(program().nothing.with_shape({1}, {1})(), {.device = last()}));
  }
  ticket const after = other.replay();
  held.release();
  done.wait();
  after.wait();
  for (std::uint32_t i = 0; i < tasks; ++i) {
    EXPECT_EQ(values[i], i < 4 ? i + 100 * (4 - i) : 4) << i;
  }
}

}  // namespace
}  // namespace flotilla::test

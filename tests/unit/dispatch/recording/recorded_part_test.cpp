// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Recorded tasks: between two replays, the device updates the nodes.

#include "dispatch/recording/recorded_part.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <vector>

#include <flotilla/runtime.hpp>

#include "unit/dispatch/graph/updating_device.hpp"
#include "unit/dispatch/lane/lane_test.hpp"

namespace flotilla::dispatch {
namespace {

class RecordedPart : public template_test {
 protected:
  static constexpr std::uint32_t tasks = 20;

  RecordedPart() : template_test{updating_device::over(api())} {
    updating_device::updater = function("update_nodes");
    own_ = {.completion = function("write_number"),
            .entry = function("nothing"),
            .update = updating_device::updater};
    // The launches contain kernel indices of the runtime `rt_`. This table must have the same
    // kernels at these indices.
    for (std::uint32_t i = 0; i <= std::max(detail::access::kernel_index(adding(0, 0)),
                                            detail::access::kernel_index(nothing()));
         ++i) {
      bool const adds = i == detail::access::kernel_index(adding(0, 0));
      table_.kernels.add([&](kernel_entry& made) {
        made.name = adds ? "add_to" : "nothing";
        if (adds) { made.parameters = {{0, 8}, {8, 4}}; }
        made.argument_bytes = adds ? 12 : 0;
        made.functions = {function(adds ? "add_to" : "nothing")};
      });
    }
    std::vector<recorded_action> actions;
    for (std::uint32_t i = 0; i < tasks; ++i) {
      plan_.tasks.push_back(i);
      plan_.after.push_back(i < 4 ? std::vector<std::uint32_t>{}
                                  : std::vector<std::uint32_t>{i - 4});
      if (i >= tasks - 4) { plan_.leaves.push_back(i); }
      actions.emplace_back(adding(i, 1));
    }
    // The last task is a fill, which only the driver can rewrite.
    plan_.tasks.push_back(tasks);
    plan_.after.emplace_back();
    plan_.leaves.push_back(tasks);
    actions.emplace_back(filling(1));
    part_ = std::make_unique<recorded_part>(
        context_,
        recorded_part::build_args{plan_, actions, table_, lane_.counter(), own_, memory_, page_});
    EXPECT_EQ(part_->upload(lane_.stream()), CUDA_SUCCESS);
  }
  ~RecordedPart() override {
    settle();
    part_->destroy();
    memory_.destroy();
  }
  launch adding(std::uint32_t task, std::uint32_t amount, std::uint32_t blocks = 1,
                std::uint32_t threads = 1) {
    return program_.add.with_shape({blocks}, {threads})(&sums_[task], amount);
  }
  detail::memory_command filling(std::uint32_t value) {
    return detail::access::command(filled_.fill(value));
  }
  launch nothing() { return program_.nothing.with_shape({1}, {1})(); }
  /// Puts a change of `task` into the list `in`, or into a new list. @return the list, which can be
  /// passed to `replay`.
  template <class Action>
  std::uint32_t change(std::uint32_t task, Action const& what,
                       std::uint32_t in = change_lists::none) {
    if (in == change_lists::none) { in = part_->lists.take(); }
    part_->lists.at(in).put(task, what);
    return in;
  }
  /// Replays the part in the same steps as replayer::start.
  CUresult replay(std::uint32_t changes = change_lists::none) {
    CUresult const answer = enqueue(changes);
    EXPECT_TRUE(reaches(number_));
    return answer;
  }
  CUresult enqueue(std::uint32_t changes) {
    if (auto const refused = part_->rewrite(changes); refused.why.status != CUDA_SUCCESS) {
      part_->defer(changes);
      return refused.why.status;
    }
    CUresult const answer = part_->enqueue(lane_, number_ + 1);
    if (answer != CUDA_SUCCESS) {
      part_->defer(changes);
      return answer;
    }
    ++number_;
    if (changes != change_lists::none) { part_->lists.give_back(changes); }
    return answer;
  }
  std::uint32_t take(std::uint32_t task) { return std::atomic_ref{sums_[task]}.exchange(0); }

  runtime rt_{{.devices = "cpu:1", .workers = 0}};
  test::test_program program_{rt_};
  device_buffer<std::uint32_t> filled_{rt_, device_ordinal{0}, 1};
  registered_slabs memory_{context_};
  builtin_functions own_;
  kernel_table table_;
  planned_part plan_;
  std::array<std::uint32_t, tasks> sums_{};
  std::unique_ptr<recorded_part> part_;
  std::uint64_t number_ = 0;
};

// requirement: each node runs with the arguments and the grid that were set last for it
TEST_F(RecordedPart, HoldsWhatWasSet) {
  EXPECT_EQ(updating_device::attributes_asked, static_cast<int>(tasks));
  std::array<std::uint32_t, tasks> each{};
  each.fill(1);
  for (std::uint32_t round = 0; round < 30; ++round) {
    std::uint32_t changes = change_lists::none;
    for (std::uint32_t i = round % 5; round % 4 != 3 && i < tasks; i += 1 + round % 6) {
      std::uint32_t const blocks = 1 + (round + i) % 3;
      changes = change(i, adding(i, round * i, blocks), changes);
      each[i] = round * i * blocks;
    }
    ASSERT_EQ(replay(changes), CUDA_SUCCESS);
    for (std::uint32_t i = 0; i < tasks; ++i) {
      ASSERT_EQ(take(i), each[i]) << i << ", round " << round;
    }
  }
}

// requirement: fills and launches can be changed in the same replay
TEST_F(RecordedPart, ChangesFillsAsWell) {
  for (std::uint32_t value = 2; value < 6; ++value) {
    ASSERT_EQ(replay(change(tasks, filling(value), change(4, adding(4, 10 * value)))),
              CUDA_SUCCESS);
    EXPECT_EQ(take(4), 10 * value);
    std::uint32_t seen = 0;
    ASSERT_EQ(api()->memcpy_dtoh(&seen, filled_.address(), sizeof seen), CUDA_SUCCESS);
    EXPECT_EQ(seen, value);
  }
}

// requirement: the changes of a replay that could not be launched are not lost. The next replay
// makes them before its own changes
TEST_F(RecordedPart, DefersWhatWasNotLaunched) {
  updating_device::refuse_launches = 1;
  std::uint32_t changes = change(0, adding(0, 5));
  EXPECT_NE(replay(change(1, adding(1, 6), changes)), CUDA_SUCCESS);
  ASSERT_EQ(replay(change(1, adding(1, 7))), CUDA_SUCCESS);
  EXPECT_EQ(take(0), 5u);
  EXPECT_EQ(take(1), 7u);
  EXPECT_EQ(take(2), 1u);
  ASSERT_EQ(replay(), CUDA_SUCCESS);
  EXPECT_EQ(take(0), 5u);
}

// requirement: while a replay is in flight, the records that it reads are not overwritten.
// Afterwards their memory is reused.
TEST_F(RecordedPart, KeepsTheListsOfReplaysInFlight) {
  std::array<std::uint32_t, 2> words{};
  std::uint32_t* address = words.data();
  std::array<void*, 1> arguments{&address};
  ASSERT_EQ(context_.api().launch_kernel(function("hold_until"), 1, 1, 1, 1, 1, 1, 0,
                                         lane_.stream(), arguments.data(), nullptr),
            CUDA_SUCCESS);
  std::vector<std::byte*> lists;
  for (std::uint32_t i = 1; i <= 5; ++i) {
    ASSERT_EQ(enqueue(change(0, adding(0, i))), CUDA_SUCCESS);
    lists.push_back(updating_device::last_records);
  }
  EXPECT_EQ((std::set<std::byte*>{lists.begin(), lists.end()}.size()), 5u);
  std::atomic_ref{words[1]}.store(1, std::memory_order_release);
  ASSERT_TRUE(reaches(number_));
  ASSERT_EQ(replay(change(0, adding(0, 6))), CUDA_SUCCESS);
  EXPECT_NE(std::find(lists.begin(), lists.end(), updating_device::last_records), lists.end());
}

// requirement: after an invalid grid is set, every replay fails until a valid grid is set
TEST_F(RecordedPart, RefusesAnInvalidGrid) {
  EXPECT_EQ(replay(change(3, adding(3, 9, 0))), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(replay(change(4, adding(4, 9))), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(take(3), 0u);
  ASSERT_EQ(replay(change(3, adding(3, 8))), CUDA_SUCCESS);
  EXPECT_EQ(take(3), 8u);
  EXPECT_EQ(take(4), 9u);
}

// requirement: a node's kernel and block size can be changed, although the device cannot make such
// changes. The other nodes keep their settings.
TEST_F(RecordedPart, MayBecomeAnotherKernelAndAnotherBlock) {
  ASSERT_EQ(replay(change(5, adding(5, 50, 2))), CUDA_SUCCESS);
  EXPECT_EQ(take(5), 100u);
  ASSERT_EQ(replay(change(6, nothing())), CUDA_SUCCESS);
  EXPECT_EQ(take(5), 100u);
  EXPECT_EQ(take(6), 1u) << "the first replay added 1";
  ASSERT_EQ(replay(change(7, adding(7, 3, 1, 2))), CUDA_SUCCESS);
  EXPECT_EQ(take(5), 100u);
  EXPECT_EQ(take(6), 0u);
  EXPECT_EQ(take(7), 8u) << "two replays added 1 each, then two threads added 3 each";
}

// requirement: after an invalid block size is set, every replay fails until a valid size is set. No
// replay runs with the old block size instead.
TEST_F(RecordedPart, ARefusedBlockIsNotForgotten) {
  ASSERT_EQ(replay(change(2, adding(2, 5))), CUDA_SUCCESS);
  EXPECT_EQ(take(2), 5u);
  EXPECT_NE(replay(change(2, adding(2, 7, 1, 5000))), CUDA_SUCCESS);
  EXPECT_NE(replay(), CUDA_SUCCESS);
  EXPECT_NE(replay(change(3, adding(3, 9))), CUDA_SUCCESS);
  EXPECT_EQ(take(2), 0u);
  ASSERT_EQ(replay(change(2, adding(2, 8))), CUDA_SUCCESS);
  EXPECT_EQ(take(2), 8u);
  EXPECT_EQ(take(3), 10u) << "the first replay added 1, the last replay added 9";
}

}  // namespace
}  // namespace flotilla::dispatch

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// flow::repeat: the replays run after all tasks before them.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "contract/flow_fixture.hpp"
#include "support/eventually.hpp"
#include "support/hold.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class FlowRepeatOrder : public flow_test {
 protected:
  static constexpr std::uint32_t count = 32;
  static constexpr std::uint32_t many = 600;  // more predecessors than one task joins
  static constexpr std::size_t window = 4096;

  [[nodiscard]] runtime_options with_window() const {
    runtime_options made = options();
    made.window = window;
    return made;
  }
  [[nodiscard]] static std::vector<word_data> make(flow& owner) {
    std::vector<word_data> made;
    words const start = iota(count);
    for (std::uint32_t i = 0; i < many; ++i) {
      word_data& each = made.emplace_back(owner, std::array<std::size_t, 1>{count});
      std::copy(start.begin(), start.end(), each.host_for_update().data);
    }
    return made;
  }
};
FLOTILLA_CONTRACT(FlowRepeatOrder);

// regression: the replays waited only for the first of many predecessors if the window of host
// tasks was full in between
TEST_P(FlowRepeatOrder, WaitsForAllOfManyPredecessors) {
  if (device_count() < 2) {
    GTEST_SKIP() << "the kernels that are held need a device of their own";
  }
  runtime own{with_window()};
  flow fl{own};
  flotilla::program const code = own.load(flow_kernels);
  test_program const holding{own};
  auto const stir = code.kernel(flow_kernels.stir_words).over(count, 32);
  std::vector<word_data> all = make(fl);
  held_word of_window{own}, of_most{own}, of_last{own};
  // These kernels end one after the other.
  auto const hold = [&](held_word const& word, dependency_list const& after) {
    return own.submit(word.launch_of(holding), {.device = last(), .after = after});
  };
  ticket const window_held = hold(of_window, {});
  ticket const most_held = hold(of_most, {window_held});
  ticket const last_held = hold(of_last, {most_held});
  // Tasks that wait for a host task are in no stream, where replays could be behind them.
  ticket const most_go = own.submit(host_task([] {}), {.after = {most_held}});
  ticket const last_goes = own.submit(host_task([] {}), {.after = {last_held}});
  for (word_data& each : all) {
    ticket const& held = &each == &all.back() ? last_goes : most_go;
    fl.post(stir(update(each), count, 1u), {.device = first(), .after = {held}});
  }
  // Leaves one place in the window of host tasks, but two tasks join the predecessors.
  std::size_t const places = std::min<std::size_t>(device_count() * window, 65000);
  for (std::size_t i = 3; i < places; ++i) {
    static_cast<void>(own.submit(host_task([] {}), {.after = {window_held}}));
  }
  std::atomic<int> calls{0};
  std::thread opener{[&] {
    EXPECT_TRUE(eventually([&] { return calls == 3; }));
    // If the replays are not submitted by then, the window is not full, and the test shows less.
    std::this_thread::sleep_for(100ms);
    of_window.release();
  }};
  constexpr std::size_t times = 6;
  fl.repeat(times, [&] {
    ++calls;
    for (word_data& each : all) { fl.post(stir(update(each), count, 7u), {.device = first()}); }
  });
  opener.join();
  EXPECT_EQ(calls, 3);
  of_most.release();
  ticket const reader =
      fl.submit(uses(read(all.front())), host_task([](view<std::uint32_t const>) {}));
  EXPECT_FALSE(reader.wait_for(100ms)) << "the replays overtook a task";
  of_last.release();
  words const expected = stirred(stirred(iota(count), 1, 1), 7, times);
  for (word_data& each : all) { EXPECT_EQ(on_host(each), expected); }
  own.wait_idle();
}

}  // namespace
}  // namespace flotilla::test

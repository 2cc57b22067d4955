// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The parts of the workload without flows.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>

#include "stress/failed_calls/workload.hpp"
#include "support/eventually.hpp"

namespace flotilla::test {

using namespace std::chrono_literals;

void workload::copies() {
  // Small copies share a grid, larger ones are staged, and the largest go to the copy engine.
  for (std::size_t const size : {50u, 30'000u, 400'000u}) {
    for (std::size_t d = 0; d < 2; ++d) {
      auto& first = keep<buffer>(rt_, on(d), size);
      auto& second = keep<buffer>(rt_, on(d), size);
      auto& other = keep<buffer>(rt_, on(d + 1), size);
      auto& pinned = keep<host_buffer<unsigned>>(rt_, size);
      auto& from = keep_long<values>(size, 10u);
      auto& to = keep_long<values>(size, 0u);
      std::fill_n(pinned.data(), size, 100u);
      ticket up = rt_.submit(first.copy_from(from), {.label = "up"});
      ticket raised = rt_.submit(increments(first), {.label = "raise", .after = {up}});
      ticket across = rt_.submit(other.copy_from(first), {.after = {raised}});
      ticket along = rt_.submit(second.copy_from(first), {.after = {raised}});
      ticket again = rt_.submit(increments(second), {.after = {along}});
      ticket down = rt_.submit(other.copy_to(to), {.after = {across}});
      ticket pinned_down = rt_.submit(second.copy_to(pinned), {.after = {again}});
      expect(std::move(up), "up");
      expect(std::move(raised), "raise");
      expect(std::move(across), "across");
      expect(std::move(along), "along");
      expect(std::move(again), "raise again");
      expect(std::move(down), "down",
             [&to] { return std::count(to.begin(), to.end(), 11u) == std::ssize(to); });
      expect(std::move(pinned_down), "pinned down", [&pinned, size] {
        return std::count(pinned.data(), pinned.data() + size, 12u) == static_cast<long>(size);
      });
    }
  }
}

void workload::fills_and_attributes() {
  auto& words = keep<buffer>(rt_, on(0), 1000u);
  auto& bytes = keep<device_buffer<char>>(rt_, on(1), 5001u);
  auto& shorts = keep<device_buffer<short>>(rt_, on(1), 5001u);
  auto& out = keep_long<values>(1000, 0u);
  auto& sum = keep<buffer>(rt_, on(0), 1u);
  auto& total = keep_long<values>(1, 0u);
  task_options const alone{.batch = false};
  expect(rt_.submit(bytes.fill('b'), alone), "fill bytes");
  expect(rt_.submit(bytes.subspan(1, 300).fill('c')), "fill some bytes");
  expect(rt_.submit(shorts.subspan(1, 3000).fill(short{17}), alone), "fill shorts");
  ticket filled = rt_.submit(words.fill(7u), alone);
  ticket cooperative = rt_.submit(
      increment_.with_shape({1}, {512}).cooperative()(words.data(), 512u), {.after = {filled}});
  ticket urgent =
      rt_.submit(increments(words), {.after = {cooperative}, .batch = false, .priority = 1});
  expect(rt_.submit(words.copy_to(out), {.after = {urgent}, .batch = false}), "words down",
         [&out] { return out[0] == 9u && out[511] == 9u && out[512] == 8u && out[999] == 8u; });
  expect(std::move(filled), "fill words");
  expect(std::move(cooperative), "cooperative");
  expect(std::move(urgent), "urgent");
  auto const shared = program_.kernel<unsigned*>("sum_shared");
  ticket summed = rt_.submit(shared.with_shape({1}, {64}).shared(60'000)(sum.data()));
  expect(rt_.submit(sum.copy_to(total), {.after = {summed}}), "sum down",
         [&total] { return total[0] == 64u * 65u / 2u; });
  expect(std::move(summed), "sum in shared memory");
  static_cast<void>(rt_.memory(on(0)));
  program_.prefer_cache(on(0), "increment_all", cache_preference::l1);
}

void workload::bulks() {
  constexpr std::size_t items = 200, width = 32;
  for (std::size_t d = 0; d < 2; ++d) {
    auto& all = keep<buffer>(rt_, on(d), items * width);
    auto& out = keep_long<values>(items * width, 0u);
    ticket filled = rt_.submit(all.fill(1u));
    ticket raised = rt_.submit(bulk(increment_.over(width), items,
                                    [&](std::size_t i) {
                                      return std::tuple{all.data() + i * width, unsigned{width}};
                                    }),
                               {.device = on(d), .after = {filled}});
    std::vector<memory_op> down;
    for (std::size_t i = 0; i < items; ++i) {
      down.push_back(
          all.subspan(i * width, width).copy_to(std::span{out}.subspan(i * width, width)));
    }
    expect(std::move(filled), "fill for a bulk");
    expect(rt_.submit(bulk(down), {.after = {raised}}), "bulk of copies",
           [&out] { return std::count(out.begin(), out.end(), 2u) == std::ssize(out); });
    expect(std::move(raised), "bulk of launches");
  }
}

void workload::functions() {
  auto& calls = keep_long<std::array<std::atomic<int>, 3>>();
  launch const nothing = program_.kernel<>("nothing").with_shape({1}, {1})();
  for (std::size_t d = 0; d < 2; ++d) {
    ticket called = rt_.submit([&calls](task_context&) { ++calls[0]; }, {.device = on(d)});
    ticket hosted = rt_.submit(host_task([&calls] { ++calls[1]; }), {.after = {called}});
    ticket timed = rt_.submit(
        nothing,
        {.device = on(d), .after = {hosted}, .deadline = std::chrono::steady_clock::now() + 60s});
    timed.then([&calls](std::exception_ptr) { ++calls[2]; });
    ticket const behind = rt_.submit(nothing, {.device = on(d + 1), .after = {timed}});
    static_cast<void>(behind.cancel());
    expect(std::move(called), "callable", [&calls] { return calls[0] > 0; });
    expect(std::move(hosted), "host task", [&calls] { return calls[1] > 0; });
    expect(std::move(timed), "task with a deadline",
           [this, &calls] { return pumping(rt_, [&] { return calls[2] > 0; }); });
    rt_.post(nothing, {.device = on(d)});
  }
}

// Each task adds the values of its neighbours in the step before, half of them on each device.
void workload::steps_over_devices() {
  struct sources {
    unsigned count;
    unsigned index[8];
  };
  static constexpr unsigned width = 6, steps = 8;
  auto const add = program_.kernel<unsigned*, unsigned, sources>("add_sources");
  for (int round = 0; round < 2; ++round) {  // once the kernel was measured, steps share launches
    auto& all = keep<host_buffer<unsigned>>(rt_, width * steps);
    std::fill(all.begin(), all.end(), 0u);
    std::vector<ticket> tickets(width * steps);
    for (unsigned task = 0; task < width * steps; ++task) {
      unsigned const point = task % width;
      sources from{};
      task_options how{.device = on(point * 2 / width)};
      for (unsigned near = point == 0 ? 0 : point - 1;
           task >= width && near < std::min(point + 2, width); ++near) {
        unsigned const ahead = task - point - width + near;
        from.index[from.count++] = ahead;
        how.after.add(tickets[ahead]);
      }
      tickets[task] = rt_.submit(add.with_shape({1}, {1})(all.data(), task, from), how);
    }
    for (unsigned task = 0; task < width * steps; ++task) {
      expect(std::move(tickets[task]), "step", [&all, task] {
        unsigned const point = task % width;
        unsigned sum = 1;
        for (unsigned near = point == 0 ? 0 : point - 1;
             task >= width && near < std::min(point + 2, width); ++near) {
          sum += all[task - point - width + near];
        }
        return all[task] == sum;
      });
    }
    settle();
  }
}

void workload::replays() {
  constexpr std::size_t size = 2000;
  auto& here = keep<buffer>(rt_, on(0), size);
  auto& there = keep<buffer>(rt_, on(1), size);
  auto& pinned = keep<host_buffer<unsigned>>(rt_, size);
  auto& other = keep<host_buffer<unsigned>>(rt_, size);
  auto& all = keep<recording>(rt_);
  auto const filled = all.add(here.fill(1u));
  auto const raised = all.add(increments(here), {.after = {filled}});
  auto const moved = all.add(there.copy_from(here), {.after = {raised}});
  auto const more = all.add(increments(there), {.after = {moved}});
  auto const down = all.add(there.copy_to(pinned), {.after = {more}});
  for (unsigned round = 0; round < 4; ++round) {
    // The last element shows what has run: it is raised twice, or once after the second round.
    if (round == 1) { all.set(filled, here.fill(20u)); }
    if (round == 2) { all.set(raised, increment_.over(size)(here.data(), unsigned{size} - 1)); }
    if (round == 3) { all.set(down, there.copy_to(other)); }
    host_buffer<unsigned>& where = round == 3 ? other : pinned;
    where.data()[size - 1] = 0;
    ticket replayed = all.replay();
    unsigned const right = round == 0 ? 3u : round == 1 ? 22u : 21u;
    bool const ended = replayed.wait_for(15s);
    unsigned const last = ended ? where.data()[size - 1] : 0;
    expect(std::move(replayed), "replay " + std::to_string(round),
           [last, right] { return last == right; });
  }
}

}  // namespace flotilla::test

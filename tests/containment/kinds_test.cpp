// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Copies, fills, bulks, callables, host tasks and flows on a device that is lost.

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <vector>

#include <flotilla/data/flow.hpp>
#include <flotilla/task/bulk.hpp>
#include <flotilla/task/host_task.hpp>

#include "containment/containment_fixture.hpp"

namespace flotilla::test {
namespace {

class LostKinds : public containment_test {
 protected:
  [[nodiscard]] static std::vector<word> iota(std::size_t size) {
    std::vector<word> made(size);
    std::iota(made.begin(), made.end(), 1u);
    return made;
  }
};
INSTANTIATE_TEST_SUITE_P(workers, LostKinds, ::testing::Values(0, 2));

// requirement: copies and fills run again, and their results are right
TEST_P(LostKinds, CopiesAndFillsRunAgain) {
  start();
  constexpr std::size_t small = 100, large = 3 << 20;  // words; the large ones are staged
  for (std::size_t const size : {small, large}) {
    std::vector<word> const source = iota(size);
    device_buffer<word> x{rt(), first, size}, y{rt(), first, size};
    host_buffer<word> pinned{rt(), size};
    std::vector<word> result(size);
    for (int round = 0; round < 4; ++round) {
      std::fill(result.begin(), result.end(), 0);
      int const before = devices().replacements();
      ticket const up = rt().submit(x.copy_from(source));
      if (round == 0) { devices().crash(0); }
      ticket const across = rt().submit(y.copy_from(x), {.after = {up}});
      rt().pump();
      if (round == 1) { devices().crash(0); }
      ticket const fill = rt().submit(x.span().fill(7), {.after = {across}});
      ticket const down = rt().submit(y.copy_to(std::span{result}), {.after = {fill}});
      rt().pump();
      if (round == 2) { devices().crash(0); }
      ticket const other = rt().submit(x.copy_to(pinned), {.after = {fill}});
      if (round == 3) { devices().crash(0); }
      for (ticket const* each : {&up, &across, &fill, &down, &other}) {
        EXPECT_EQ(ending_of(*each), ending::well) << size << " " << round;
      }
      EXPECT_EQ(result, source) << size << " " << round;
      EXPECT_TRUE(std::all_of(pinned.begin(), pinned.end(), [](word each) { return each == 7; }));
      rt().submit(nothing(), {.device = first}).wait();
      EXPECT_EQ(devices().replacements(), before + 1);
    }
  }
}

// requirement: items that had not begun run once on the successor, whatever their grids. A device
// that has not measured the kernel divides them into several launches
TEST_P(LostKinds, ItemsOfABulkThatHadNotBegunRunOnce) {
  start();
  constexpr word n = 2000;
  host_buffer<word> counters{rt(), n};
  kernel<word*, word> const one = program().loaded.kernel<word*, word>("count_id");
  for (int i = 0; i < 30; ++i) {
    rt().submit(one.with_shape({1}, {1})(counters.data(), 0u), {.device = first}).wait();
  }
  rt().wait_idle();
  for (word const sizes : {1u, 2u}) {
    std::fill_n(counters.data(), n, 0u);
    testing::hang_kernel(rt().devices()[0], 1);
    testing::hang_kernel(rt().devices()[1], 1);
    std::vector<launch> items;
    for (word i = 0; i < n; ++i) {
      items.push_back(one.with_shape({10 + i % sizes}, {1})(counters.data(), i));
    }
    ticket const ahead = rt().submit(nothing(), {.device = second, .repeatable = true});
    pump_for_a_while();
    ticket const all = rt().submit(bulk(items), {.after = {ahead}});
    pump_for_a_while();
    devices().crash(1);
    pump_for_a_while();
    testing::clear_faults();
    EXPECT_EQ(ending_of(all), ending::well);
    for (word i = 0; i < n; ++i) { ASSERT_EQ(counters[i], 10 + i % sizes) << i; }
  }
}

// requirement: items of a bulk run once, or fail
TEST_P(LostKinds, ItemsOfABulkRunOnceOrFail) {
  start();
  constexpr word n = 3000;
  for (bool const repeatable : {false, true}) {
    device_buffer<word> counters = zeros(n, first);
    kernel<word*, word> const one = program().loaded.kernel<word*, word>("count_id");
    testing::fault_kernel(rt().devices()[0], 3, driver_status::illegal_address);
    ticket const all = rt().submit(bulk(one.with_shape({1}, {1}), n,
                                        [&](std::size_t i) {
                                          return std::tuple{counters.span(), static_cast<word>(i)};
                                        }),
                                   {.repeatable = repeatable});
    bool failed = false;
    try {
      all.wait();
    } catch (bulk_error const& why) {
      failed = true;
      EXPECT_THROW(std::rethrow_exception(why.cause()), device_fault);
    }
    std::vector<word> const ran = read(counters);
    if (repeatable) {  // items that ran before others of their chunk faulted run again
      EXPECT_FALSE(failed);
      EXPECT_GE(*std::min_element(ran.begin(), ran.end()), 1u);
    } else {
      EXPECT_LE(*std::max_element(ran.begin(), ran.end()), 1u);
    }
    testing::clear_faults();
  }
}

// requirement: a callable whose work was in flight fails; queued ones run. A callable that threw
// keeps its error
TEST_P(LostKinds, CallablesRunOnce) {
  start();
  std::atomic<int> runs{0};
  device_buffer<word> counters = zeros(1, first);
  std::vector<ticket> all;
  for (int i = 0; i < 40; ++i) {
    all.push_back(rt().submit([&](task_context&) { runs.fetch_add(1); }, {.device = first}));
    if (i == 20) { devices().crash(0); }
  }
  int well = 0, lost = 0;
  for (ticket const& each : all) {
    ending const how = ending_of(each);
    well += how == ending::well ? 1 : 0;
    lost += how == ending::lost ? 1 : 0;
  }
  EXPECT_EQ(well + lost, 40);
  EXPECT_EQ(runs.load(), 40);
}

// requirement: host tasks and continuations see the end of tasks that ran again, once
TEST_P(LostKinds, HostTasksAndContinuationsRunOnce) {
  start();
  constexpr word n = 200;
  device_buffer<word> counters = zeros(n, first);
  std::atomic<int> continued{0}, hosts{0};
  std::vector<ticket> tasks, after;
  for (word i = 0; i < n; ++i) {
    tasks.push_back(rt().submit(count(counters, i), {.repeatable = true}));
    tasks.back().then([&](std::exception_ptr const&) { continued.fetch_add(1); });
    after.push_back(rt().submit(host_task([&] { hosts.fetch_add(1); }), {.after = {tasks.back()}}));
    if (i == n / 2) { devices().crash(0); }
  }
  for (ticket const& each : tasks) { EXPECT_EQ(ending_of(each), ending::well); }
  for (ticket const& each : after) { EXPECT_EQ(ending_of(each), ending::well); }
  EXPECT_TRUE(pumping(rt(), [&] { return continued.load() == static_cast<int>(n); }));
  EXPECT_EQ(hosts.load(), static_cast<int>(n));
}

// requirement: posted tasks report their loss once
TEST_P(LostKinds, PostedTasksReportTheirLoss) {
  std::atomic<int> faults{0}, others{0};
  start({.on_error = [&](std::exception_ptr why) {
    try {
      std::rethrow_exception(why);
    } catch (device_fault const&) { faults.fetch_add(1); } catch (...) {
      others.fetch_add(1);
    }
  }});
  testing::fault_kernel(rt().devices()[0], 1, driver_status::illegal_address);
  rt().post(nothing(), {.device = first});
  rt().wait_idle();
  EXPECT_TRUE(pumping(rt(), [&] { return faults.load() == 1; }));
  EXPECT_EQ(others.load(), 0);
}

// requirement: data that a lost task should have written are lost: their reader fails with an error
// that names the loss, and a task that writes all of them makes them valid again
TEST_P(LostKinds, DataOfALostTaskAreLost) {
  start();
  flow all{rt()};
  {
    data<word> x{all, {64}, "x"}, y{all, {64}, "y"};
    auto const set = [&](data<word>& to, word value) {
      return all.submit(program()
                            .loaded.kernel<word*, word>("write_value")
                            .with_shape({1}, {1})(flotilla::write(to), value),
                        {.device = first});
    };
    set(y, 5).wait();
    testing::fault_kernel(rt().devices()[0], 1, driver_status::illegal_address);
    ticket const lost = set(x, 1);
    EXPECT_EQ(ending_of(lost), ending::lost);
    ticket const reader = all.submit(uses(flotilla::read(x)),
                                     [](task_context&, view<word const>) {}, {.device = second});
    EXPECT_THAT(thrown<dependency_failed>([&] { reader.wait(); }), HasSubstr("was lost"));
    EXPECT_THAT(thrown<dependency_failed>([&] { static_cast<void>(x.host()); }),
                HasSubstr("data 'x' are lost"));
    EXPECT_EQ(ending_of(set(x, 2)), ending::well);
    EXPECT_EQ(x.host()(0), 2u);
    EXPECT_EQ(y.host()(0), 5u) << "what the lost task could not write is valid";
  }
}

// requirement: if a task that reads data is lost together with the copy of the data to its device,
// the data are valid for the next task
TEST_P(LostKinds, DataThatTheHostHasStayValid) {
  start({.on_error = [](std::exception_ptr const&) {}});
  for (word round = 0; round < 20; ++round) {
    flow all{rt()};
    data<word> x{all, {1}, "x"}, y{all, {1}, "y"};
    x.host_for_update()(0) = round;
    auto const read_x = [&] {
      return all.submit(program().copy.with_shape({1}, {1})(flotilla::write(y), flotilla::read(x)),
                        {.device = first});
    };
    testing::hang_kernel(rt().devices()[0], 1 + round % 2);
    ticket const lost = read_x();
    pump_for_a_while();
    devices().crash(0);
    pump_for_a_while();
    testing::clear_faults();
    rt().wait_idle();
    EXPECT_EQ(ending_of(read_x()), ending::well) << round;
    EXPECT_EQ(y.host()(0), round);
  }
}

// requirement: a repeatable task of a flow is not repeated if a task that overwrites what it reads
// may have been running, too
TEST_P(LostKinds, ATaskIsNotRepeatedWithDataThatWereOverwritten) {
  start({.on_error = [](std::exception_ptr const&) {}});
  for (word round = 0; round < 20; ++round) {
    flow all{rt()};
    data<word> x{all, {1}, "x"}, y{all, {1}, "y"};
    y.host_for_update()(0) = round;
    auto const add = [&](word amount) {
      return all.submit(program().add.with_shape({1}, {1})(update(y), amount), {.device = first});
    };
    add(1).wait();
    rt().wait_idle();
    testing::hang_kernel(rt().devices()[0], 3);
    ticket const copied =
        all.submit(program().copy.with_shape({1}, {1})(flotilla::write(x), flotilla::read(y)),
                   {.device = first, .repeatable = true});
    ticket const overwriting = add(1000);  // may have run when the next one hangs
    ticket const hanging = add(1000);
    pump_for_a_while();
    devices().crash(0);
    pump_for_a_while();
    testing::clear_faults();
    if (ending_of(copied) == ending::well) { EXPECT_EQ(x.host()(0), round + 1) << round; }
    rt().wait_idle();
  }
}

}  // namespace
}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// When the steps of dependent tasks end that are one ordered grid.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/inside.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

class OrderedSteps : public guest_test {};

struct example {
  struct steps {
    ticket begin, beside, second, third, last;
  };

  explicit example(dispatch::order_use use)
      : rt{make_runtime({.devices = device_spec(1), .workers = 0, .fuse_launches = true},
                        {.ordered_grids = use})} {
    words[0] = 0;
    words[1] = 1;  // the kernels with these words end at once
    for (int i = 0; i < 40; ++i) { rt.submit(launch_of(words.data())).wait(); }  // are measured
    held[0] = held[1] = 0;
  }
  [[nodiscard]] launch launch_of(std::uint32_t* of) const {
    return program.hold.with_shape({1}, {1})(of);
  }
  /// Submits tasks. Only the third one does not end at once, if its words are others.
  [[nodiscard]] steps submit(std::uint32_t* of_third) {
    steps made;
    made.begin = rt.submit(launch_of(words.data()));
    made.beside = rt.submit(launch_of(words.data()));
    made.second = rt.submit(launch_of(words.data()), {.after = {made.begin, made.beside}});
    made.third = rt.submit(launch_of(of_third), {.after = {made.second, made.begin}});
    made.last = rt.submit(launch_of(words.data()), {.after = {made.third, made.second}});
    return made;
  }
  /// Expects that the tasks run until the third one does.
  void expect_third_runs(steps const& of, std::uint32_t& begun) {
    EXPECT_TRUE(
        pumping(rt, [&] { return std::atomic_ref{begun}.load(std::memory_order_acquire) != 0; }));
    EXPECT_FALSE(of.third.ready());
    EXPECT_FALSE(of.last.ready());
  }
  [[nodiscard]] std::uint64_t batches() const { return rt.counters(device_ordinal{0}).batches; }

  runtime rt;
  test_program program{rt};
  host_buffer<std::uint32_t> words{rt, 2}, held{rt, 2};
};

// requirement: a step ends when its tasks have ended, although later steps are in the same grid
TEST_F(OrderedSteps, EndAsSoonAsTheyCan) {
  example with{dispatch::order_use::always};
  // The device makes the words of the grid.
  ASSERT_TRUE(eventually([&] {
    std::uint64_t const before = with.batches();
    with.submit(with.words.data()).last.wait();
    with.rt.wait_idle();
    return with.batches() - before == 1;
  })) << "all are one grid";
  std::uint64_t const before = with.batches();
  example::steps const made = with.submit(with.held.data());
  with.expect_third_runs(made, with.held[0]);
  EXPECT_TRUE(pumping(
      with.rt, [&] { return made.begin.ready() && made.beside.ready() && made.second.ready(); }));
  std::atomic_ref{with.held[1]}.store(1, std::memory_order_release);
  made.last.wait();
  EXPECT_TRUE(made.third.ready());
  EXPECT_EQ(with.batches() - before, 1u) << "all are one grid";
}

// requirement: the same order without such grids
TEST_F(OrderedSteps, HaveTheSameOrderInWaves) {
  example with{dispatch::order_use::never};
  example::steps const made = with.submit(with.held.data());
  with.expect_third_runs(made, with.held[0]);
  std::atomic_ref{with.held[1]}.store(1, std::memory_order_release);
  made.last.wait();
  EXPECT_TRUE(made.third.ready());
}

}  // namespace
}  // namespace flotilla::test

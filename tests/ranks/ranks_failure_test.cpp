// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Failures of tasks and of ranks reach the ranks that depend on them, and nothing hangs.

#include <gmock/gmock.h>

#include <chrono>
#include <stdexcept>

#include "ranks/ranks_fixture.hpp"

namespace flotilla::test {
namespace {

using ::testing::HasSubstr;

// requirement: a task that fails makes its readers on other ranks fail, with its text and its rank
TEST(RanksFailure, AFailedTaskReachesItsReaders) {
  expect_on_ranks(3, {}, [](rank_program& here) {
    flow all{here.all};
    word_data x{all, {16}, "x"}, y{all, {16}, "y"};
    y.set_owner(2);
    all.post(uses(write(x)),
             host_task([](view<std::uint32_t>) { throw std::runtime_error("the disk is full"); }),
             {.rank = 1});
    ticket const reader = all.submit(here.mix(y, x, x, 1));
    if (here.rank() == 2) {
      try {
        reader.wait();
        ADD_FAILURE() << "the task ran";
      } catch (dependency_failed const& error) {
        EXPECT_THAT(error.what(), HasSubstr("the disk is full"));
        EXPECT_THAT(error.what(), HasSubstr("rank"));
        EXPECT_THROW(std::rethrow_exception(error.first_cause()), remote_error);
      }
    }
    // A task that writes all of the data heals them.
    all.post(uses(write(x)), host_task([](view<std::uint32_t> out) { out(0) = 4; }), {.rank = 1});
    if (here.rank() == 0) { EXPECT_EQ(x.host()(0), 4u); }
  });
}

// requirement: an exception that leaves one rank is thrown on all others, with its text, at once
TEST(RanksFailure, AnExceptionReachesAllRanks) {
  auto const begun = std::chrono::steady_clock::now();
  auto const errors = on_ranks(4, {}, [](rank_program& here) {
    flow all{here.all};
    word_data x{all, {16}, "x"}, y{all, {16}, "y"};
    x.set_owner(1);
    if (here.rank() == 1) { throw std::runtime_error("the input is missing"); }
    all.post(uses(write(x)), host_task([](view<std::uint32_t>) {}));
    all.submit(here.mix(y, x, x, 1), {.rank = here.rank()}).wait();
  });
  EXPECT_EQ(errors[1], "the input is missing");
  for (int const i : {0, 2, 3}) {
    EXPECT_THAT(errors[static_cast<std::size_t>(i)], HasSubstr("the input is missing")) << i;
    EXPECT_THAT(errors[static_cast<std::size_t>(i)], HasSubstr("rank 1 has failed")) << i;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds{30});
}

// requirement: a rank that ends its cluster too early is named on the ranks that wait for it
TEST(RanksFailure, AnEarlyEndIsNamed) {
  auto const errors = on_ranks(2, {}, [](rank_program& here) {
    flow all{here.all};
    word_data x{all, {16}, "x"}, y{all, {16}, "y"};
    x.set_owner(1);
    if (here.rank() == 1) { return; }
    all.post(uses(write(x)), host_task([](view<std::uint32_t>) {}));
    all.submit(here.mix(y, x, x, 1)).wait();
  });
  EXPECT_EQ(errors[1], "");
  EXPECT_THAT(errors[0], HasSubstr("rank 1 has ended its cluster"));
  EXPECT_THAT(errors[0], HasSubstr("'x'"));
}

// requirement: ranks whose programs differ are told which data, and which ranks
TEST(RanksFailure, DifferentProgramsAreNamed) {
  auto const errors = on_ranks(2, {}, [](rank_program& here) {
    flow all{here.all};
    words host = iota(16);
    word_data x{all, host, "x"}, y{all, {16}, "y"};
    y.set_owner(1);
    if (here.rank() == 0) { all.post(here.stir(x, 1)); }
    all.post(here.mix(y, x, x, 1), {.label = "late"});
    here.all.wait_idle();
  });
  for (std::string const& error : errors) {
    EXPECT_THAT(error, HasSubstr("the programs of the ranks differ"));
    EXPECT_THAT(error, HasSubstr("'x' for task 'late'"));
  }
}

// requirement: a rank whose process fails makes the others throw
TEST(RanksFailure, ADeadRankIsNamed) {
  testing::loop loop{2, {}};
  std::atomic<bool> is_ready{false};
  std::thread victim = start_victim(loop, is_ready);
  runtime rt{{.devices = "cpu:1", .workers = 1}};
  try {
    cluster all{rt, loop.rank(0)};
    rank_program here{rt, all};
    flow over{all};
    word_data x{over, {1 << 16}, "x"}, y{over, {1 << 16}, "y"};
    x.set_owner(1);
    over.post(uses(write(x)), host_task([](view<std::uint32_t>) {}));
    ticket const waits = over.submit(here.mix(y, x, x, 1));
    // Sends something to the dead rank, so that the transport notices.
    is_ready = true;
    victim.join();
    word_data z{over, {1 << 16}, "z"};
    over.post(uses(write(z)), host_task([](view<std::uint32_t>) {}));
    over.post(uses(update(z)), host_task([](view<std::uint32_t>) {}), {.rank = 1});
    EXPECT_THROW(waits.wait(), rank_failed);
    EXPECT_THROW(over.post(here.stir(y, 1)), rank_failed);
    throw std::runtime_error("left");
  } catch (std::runtime_error const& error) { EXPECT_STREQ(error.what(), "left"); }
}

// requirement: if the rank that runs a task has no such device, it fails and tells the others
TEST(RanksFailure, AnUnknownDeviceIsNamedOnAllRanks) {
  auto const errors = on_ranks(2, {}, [](rank_program& here) {
    flow all{here.all};
    words host = iota(16);
    word_data x{all, host, "x"};
    all.post(here.stir(x, 1), {.device = device_ordinal{3}, .rank = 1});
    static_cast<void>(x.host());
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1 has failed: there is no device 3"));
  EXPECT_THAT(errors[1], HasSubstr("there is no device 3"));
}

// requirement: bad ranks are refused with their number
TEST(RanksFailure, RanksThatDoNotExistAreRefused) {
  expect_on_ranks(2, {}, [](rank_program& here) {
    flow all{here.all};
    words host = iota(16);
    word_data x{all, host, "x"};
    EXPECT_THROW(all.post(here.stir(x, 1), {.rank = 2}), invalid_argument);
    EXPECT_THROW(x.set_owner(-1), invalid_argument);
    EXPECT_THROW(static_cast<void>(x.host_for_update()), invalid_argument);
    flow alone{here.rt};
    words other = iota(16);
    word_data y{alone, other, "y"};
    EXPECT_THROW(alone.post(here.stir(y, 1), {.rank = 1}), invalid_argument);
    EXPECT_THROW(y.set_owner(1), invalid_argument);
    // Tasks that are not in a flow run on no other rank.
    auto const nothing = [] {};
    EXPECT_THROW(static_cast<void>(here.rt.submit(host_task(nothing), {.rank = 1})),
                 invalid_argument);
    auto const callable = [](task_context&) {};
    EXPECT_THROW(static_cast<void>(here.rt.submit(callable, {.rank = 1})), invalid_argument);
    EXPECT_THROW(static_cast<void>(here.rt.submit(callable, {.rank = -2})), invalid_argument);
    here.rt.submit(callable, {.rank = 0}).wait();
  });
}

}  // namespace
}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: data that end bring their contents to the memory from which they were made.

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "contract/flow_fixture.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class FlowWriteBack : public flow_test {};
FLOTILLA_CONTRACT(FlowWriteBack);

// requirement: data that were made from memory of the host are written back to it
TEST_P(FlowWriteBack, DataAreWrittenBack) {
  words pageable = iota(4096), unchanged = iota(64);
  host_buffer<std::uint32_t> pinned{rt(), 256};
  std::copy_n(iota(256).begin(), 256, pinned.begin());
  {
    word_data x{fl(), pageable, "x"}, y{fl(), pinned, "y"}, z{fl(), unchanged, "z"};
    word_data copy{fl(), {64}, "copy"};
    for (int i = 0; i < 3; ++i) {
      fl().post(stir(x, 5), {.device = i % 2 == 0 ? last() : first()});
      fl().post(stir(y, 6), {.device = last()});
    }
    fl().post(mix(copy, z, z, 0));
  }
  EXPECT_EQ(pageable, stirred(iota(4096), 5, 3));
  EXPECT_EQ(words(pinned.begin(), pinned.end()), stirred(iota(256), 6, 3));
  EXPECT_EQ(unchanged, iota(64));
}

// requirement: the same for tasks of the host on pinned memory, which need no copy
TEST_P(FlowWriteBack, TheWriteBackWaitsForHostTasks) {
  host_buffer<std::uint32_t> pinned{rt(), 8};
  {
    word_data x{fl(), pinned, "x"};
    fl().post(uses(write(x)), host_task([](view<std::uint32_t> all) {
                std::this_thread::sleep_for(5ms);
                all(7) = 9;
              }));
  }
  EXPECT_EQ(pinned[7], 9u);
}

// regression: the destructor did not wait for tasks that change tiles of pinned memory
TEST_P(FlowWriteBack, TheWriteBackWaitsForTilesOfPinnedMemory) {
  host_buffer<std::uint32_t> pinned{rt(), 32};
  {
    word_data x{fl(), pinned, "x"};
    auto tiles = x.tiles({8});
    for (auto& each : tiles) {
      fl().post(uses(write(each)), host_task([](view<std::uint32_t> all) {
                  std::this_thread::sleep_for(2ms);
                  std::fill_n(all.data, all.size(), 9u);
                }));
    }
  }
  EXPECT_EQ(words(pinned.begin(), pinned.end()), words(32, 9));
}

// regression: a callable that owned data began a copy that ended after their memory was freed
TEST_P(FlowWriteBack, InsideATaskNothingIsCopied) {
  words host = iota(64);
  auto x = std::make_shared<word_data>(fl(), host, "x");
  ticket const changed = fl().submit(stir(*x, 1), {.device = last()});
  changed.wait();
  ::testing::internal::CaptureStderr();
  rt().submit([x = std::move(x)](task_context&) mutable { x.reset(); }, {.device = last()}).wait();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("data 'x' ended"), HasSubstr("not written back"),
                    HasSubstr("inside a callable or host task")));
  rt().wait_idle();
  EXPECT_EQ(host, iota(64));
}

// requirement: tiles and partial results are combined first. If the data end before their tiles,
// the last tile writes back
TEST_P(FlowWriteBack, TilesAndReductionsAreWrittenBack) {
  words joined = iota(32), orphaned = iota(32), sum(1), five(1, 5);
  {
    word_data x{fl(), joined, "x"}, all{fl(), sum, "sum"}, part{fl(), five, "part"};
    std::optional<word_data> y{std::in_place, fl(), orphaned, "y"};
    auto of_x = x.tiles({16}), of_y = y->tiles({16});
    y.reset();
    for (unsigned i = 0; i < 2; ++i) {
      device_ordinal const where = i == 0 ? first() : last();
      fl().post(stir(of_x(i), 3), {.device = where});
      fl().post(stir(of_y(i), 4), {.device = where});
      fl().post(add(all, part, 1), {.device = where});
    }
  }
  auto const of_halves = [](std::uint32_t salt) {
    words all = iota(32);
    words const low = stirred(words(all.begin(), all.begin() + 16), salt, 1);
    words const high = stirred(words(all.begin() + 16, all.end()), salt, 1);
    std::copy(low.begin(), low.end(), all.begin());
    std::copy(high.begin(), high.end(), all.begin() + 16);
    return all;
  };
  EXPECT_EQ(joined, of_halves(3));
  EXPECT_EQ(orphaned, of_halves(4));
  EXPECT_EQ(sum, words(1, 10));
}

// requirement
TEST_P(FlowWriteBack, WriteBackCanBeSwitchedOff) {
  words host = iota(64);
  {
    word_data x{fl(), host, "x"};
    x.set_write_back(false);
    fl().post(stir(x, 1), {.device = last()});
  }
  rt().wait_idle();
  EXPECT_EQ(host, iota(64));
}

// requirement: if the contents are lost, the memory is unchanged. The ticket or the error handler
// says why, so there is no message
TEST_P(FlowWriteBack, LostDataAreNotWrittenBack) {
  words host = iota(32);
  ::testing::internal::CaptureStderr();
  {
    word_data x{fl(), host, "x"};
    ticket const bad = fl().submit(
        uses(update(x)), [](task_context&, view<std::uint32_t>) { throw std::runtime_error{"no"}; },
        {.device = last()});
    EXPECT_THROW(bad.wait(), std::runtime_error);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(host, iota(32));
}

// requirement: a closed runtime accepts no copies, so the memory is unchanged. A message says so
TEST_P(FlowWriteBack, AClosedRuntimeIsNamed) {
  words host = iota(32);
  ::testing::internal::CaptureStderr();
  {
    word_data x{fl(), host, "x"};
    fl().post(stir(x, 1), {.device = last()});
    rt().close();
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("data 'x' ended, but their contents were not written back"),
                    HasSubstr("closed")));
  rt().wait_idle();
  EXPECT_EQ(host, iota(32));
}

}  // namespace
}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A copy of pageable memory whose predecessors have ended does not wait for another copy whose
// predecessors have not.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "contract/flow_fixture.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class ReadyCopies : public contract_test {
 protected:
  static constexpr std::size_t many = std::size_t{1} << 20;  // words: many pieces of staging
  void SetUp() override {
    contract_test::SetUp();
    if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  }
};

// regression: an early copy to pageable memory held up all later ones of its device, and so did a
// copy to pinned memory. The same for copies from pageable memory
TEST_P(ReadyCopies, DoNotWaitForOthers) {
  runtime& rt = this->rt();
  held_word word{rt};
  device_buffer<std::uint32_t> early{rt, first(), many}, late{rt, first(), many};
  rt.submit(late.fill(7)).wait();
  ticket const held = rt.submit(word.launch_of(program()), {.device = last()});
  ASSERT_TRUE(pumping(rt, [&] { return word.started(); }));

  std::vector<std::uint32_t> early_up(many, 1), early_down(many), late_up(many, 9), late_down(many);
  host_buffer<std::uint32_t> pinned{rt, many};
  ticket const held_up = rt.submit(early.copy_from(early_up), {.after = {held}});
  ticket const held_down = rt.submit(early.copy_to(early_down), {.after = {held}});
  ticket const held_pinned = rt.submit(early.copy_to(pinned), {.after = {held}});
  ticket const down = rt.submit(late.copy_to(late_down));
  EXPECT_TRUE(pumping(rt, [&] { return down.ready(); }));
  EXPECT_EQ(late_down, std::vector<std::uint32_t>(many, 7));
  ticket const up = rt.submit(late.copy_from(late_up));
  EXPECT_TRUE(pumping(rt, [&] { return up.ready(); }));
  EXPECT_FALSE(held_up.ready());
  EXPECT_FALSE(held_down.ready());
  EXPECT_FALSE(held_pinned.ready());
  word.release();
  rt.wait_idle();
  rt.submit(late.copy_to(late_down)).wait();
  EXPECT_EQ(late_down, late_up);
}

// regression: the same in a flow, whose host tasks read what the kernels have written
TEST_P(ReadyCopies, OfFlowsDoNotWaitForOthers) {
  runtime& rt = this->rt();
  held_word word{rt};
  std::vector<std::uint32_t> early(1), late(1);
  flow work{rt};
  data<std::uint32_t> early_data{work, early}, late_data{work, late};
  ticket const held = rt.submit(word.launch_of(program()), {.device = last()});
  ASSERT_TRUE(pumping(rt, [&] { return word.started(); }));
  auto const write = program().write.with_shape({1}, {1});
  work.post(write(update(early_data), 5u), {.device = first(), .after = {held}});
  ticket const reads_early = work.submit(uses(read(early_data)), host_task([](auto) {}));
  work.post(write(update(late_data), 6u), {.device = first()});
  std::uint32_t seen = 0;
  ticket const reads_late = work.submit(
      uses(read(late_data)), host_task([&](view<std::uint32_t const> of) { seen = of(0); }));
  EXPECT_TRUE(pumping(rt, [&] { return reads_late.ready(); }));
  EXPECT_EQ(seen, 6u);
  EXPECT_FALSE(reads_early.ready());
  word.release();
  rt.wait_idle();
  EXPECT_EQ(early_data.host()(0), 5u);
}

FLOTILLA_CONTRACT(ReadyCopies);

}  // namespace
}  // namespace flotilla::test

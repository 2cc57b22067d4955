// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A runtime with two GPUs.

#include <algorithm>
#include <set>

#include <flotilla/flotilla.hpp>

#include <flotilla_kernels.hpp>

#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

class SeveralGpus : public guest_test, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_DEVICES(2);
    guest_test::SetUp();
    rt_.emplace(runtime_options{.devices = device_spec(2), .workers = GetParam()});
  }
  void TearDown() override {
    rt_.reset();
    guest_test::TearDown();
  }
  runtime& rt() { return *rt_; }

 private:
  std::optional<runtime> rt_;
};
INSTANTIATE_TEST_SUITE_P(workers, SeveralGpus, ::testing::Values(0, 1, 2));

// requirement
TEST_P(SeveralGpus, GpusAreDistinct) {
  EXPECT_NE(rt().devices()[0].uuid, rt().devices()[1].uuid);
  EXPECT_NE(rt().devices()[0].pci_id, rt().devices()[1].pci_id);
}

// requirement: a chain of copies and launches that alternates between two GPUs runs in order
TEST_P(SeveralGpus, ChainPassesDataBetweenGpus) {
  test_program const program{rt()};
  constexpr std::size_t count = 1u << 20;
  std::vector<std::uint32_t> host(count, 1);
  device_buffer<std::uint32_t> here{rt(), device_ordinal{0}, host},
      there{rt(), device_ordinal{1}, count};
  auto const increment = program.loaded.kernel<std::uint32_t*, std::uint32_t>("increment_all");
  ticket before = rt().submit(increment.over(count)(here, static_cast<std::uint32_t>(count)));
  for (int i = 0; i < 10; ++i) {
    ticket const sent = rt().submit(here.copy_to(there), {.after = {before}});
    ticket const done = rt().submit(increment.over(count)(there, static_cast<std::uint32_t>(count)),
                                    {.after = {sent}});
    before = rt().submit(there.copy_to(here), {.after = {done}});
  }
  rt().submit(here.copy_to(host), {.after = {before}}).wait();
  EXPECT_EQ(std::count(host.begin(), host.end(), 12u), static_cast<std::ptrdiff_t>(count));
  EXPECT_EQ(current_context(), nullptr);
}

// requirement: tasks that any GPU may run are distributed to both GPUs
TEST_P(SeveralGpus, SharedTasksGoToEveryGpu) {
  program const loaded = rt().load(flotilla_kernels);
  auto const spin = loaded.kernel<unsigned long long>("spin");
  for (int i = 0; i < 2000; ++i) {
    (void)rt().submit(spin.with_shape({132 * 4}, {256})(20'000ull));
  }
  rt().wait_idle();
  auto const by_first = rt().counters(device_ordinal{0}).pulled;
  auto const by_second = rt().counters(device_ordinal{1}).pulled;
  EXPECT_EQ(by_first + by_second, 2000u);
  EXPECT_GT(by_first, 200u);
  EXPECT_GT(by_second, 200u);
}

}  // namespace
}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Urgent tasks on a fully occupied GPU.

#include <algorithm>
#include <vector>

#include <flotilla/flotilla.hpp>

#include <flotilla_kernels.hpp>

#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"

namespace flotilla::test {
namespace {

class PriorityOnGpu : public guest_test {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_DEVICES(1);
    guest_test::SetUp();
  }
};

// requirement: on a full GPU, the blocks of an urgent launch start before the waiting blocks of
// less urgent launches
TEST_F(PriorityOnGpu, UrgentTasksEndBeforeAFlood) {
  constexpr int flood = 300;
  constexpr unsigned long long millisecond_ns = 1'000'000;
  runtime rt{{.devices = device_spec(1), .workers = 1}};
  program const loaded = rt.load(flotilla_kernels);
  // A multiprocessor has room for two blocks of 1024 threads. So each launch has twice as many
  // blocks as fit on the GPU.
  auto const blocks = 4 * static_cast<unsigned>(rt.devices()[0].multiprocessors);
  launch const filling =
      loaded.kernel<unsigned long long>("spin").with_shape({blocks}, {1024})(millisecond_ns);
  launch const small =
      loaded.kernel<unsigned long long>("spin").with_shape({1}, {32})(millisecond_ns / 100);
  rt.submit(filling).wait();
  rt.submit(small, {.priority = -5}).wait();
  for (int round = 0; round < 3; ++round) {
    std::vector<ticket> open;
    for (int i = 0; i < flood; ++i) { open.push_back(rt.submit(filling)); }
    // Ten launches take about 20 ms. By then the worker has launched most of the flood.
    ASSERT_TRUE(eventually([&] { return open[9].ready(); }));
    rt.submit(small, {.priority = -5}).wait();
    auto const ended =
        std::count_if(open.begin(), open.end(), [](ticket const& each) { return each.ready(); });
    EXPECT_LT(ended, flood / 2) << "round " << round;
    rt.wait_idle();
  }
}

}  // namespace
}  // namespace flotilla::test

// Urgent tasks beside a GPU that is full.

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>

#include <flotilla_kernels.hpp>

#include "support/devices.hpp"
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

// requirement: blocks of urgent launches go before blocks of less urgent ones that have not begun
TEST_F(PriorityOnGpu, UrgentTasksEndBeforeAFlood) {
  constexpr int flood = 300;
  constexpr unsigned long long a_millisecond = 1'000'000;
  runtime rt{{.devices = device_spec(1), .workers = 1}};
  program const loaded = rt.load(flotilla_kernels);
  // Some two blocks of 1024 threads lie on a multiprocessor at once: each launch fills the GPU twice over.
  auto const blocks = 4 * static_cast<unsigned>(rt.device(device_ordinal{0}).multiprocessors);
  launch const filling = loaded.kernel<unsigned long long>("spin").on({blocks}, {1024})(a_millisecond);
  launch const small = loaded.kernel<unsigned long long>("spin").on({1}, {32})(a_millisecond / 100);
  rt.submit(filling).wait();
  rt.submit(small, {.priority = -5}).wait();
  for (int round = 0; round < 3; ++round) {
    std::vector<ticket> behind;
    for (int i = 0; i < flood; ++i) { behind.push_back(rt.submit(filling)); }
    std::this_thread::sleep_for(std::chrono::milliseconds{20});  // most of it has been given to the device by now
    rt.submit(small, {.priority = -5}).wait();
    auto const ended = std::count_if(behind.begin(), behind.end(), [](ticket const& each) { return each.ready(); });
    EXPECT_LT(ended, flood / 2) << "round " << round;
    rt.wait_idle();
  }
}

}  // namespace
}  // namespace flotilla::test

// Threads that come and go while runtimes come and go.

#include <atomic>
#include <barrier>
#include <memory>
#include <thread>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/guest_test.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class Threads : public guest_test {};

using fleet = std::vector<std::unique_ptr<runtime>>;

/// What a short thread does: a few tasks to a few runtimes, of which it waits for some.
std::size_t visit(fleet const& all, std::size_t who, std::atomic<std::size_t>& ran) {
  std::size_t submitted = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    runtime& rt = *all[(who * 7 + i * 3) % all.size()];
    ticket const done = rt.submit([&ran](task_context&) { ++ran; });
    ++submitted;
    if ((who + i) % 3 == 0) { done.wait(); }
  }
  return submitted;
}

// stress: inboxes of threads that are gone, and threads that remember runtimes that are gone
TEST_F(Threads, TenThousandShortOnesUseAHundredRuntimes) {
  FLOTILLA_NEED_CPU_DRIVER();  // a hundred contexts of half a GiB each are no test of threads
  constexpr std::size_t waves = 5, at_once = 20, old_hands = 3;
  std::size_t const runtimes = scaled(100, 10) / waves, threads = scaled(10'000, 500) / waves;
  std::atomic<std::size_t> ran{0}, submitted{0};
  fleet all;
  // Old hands outlive the runtimes: what they remember of one must not be taken for the next at its
  // address.
  std::barrier<> wave_begins{old_hands + 1}, wave_ends{old_hands + 1};
  std::vector<std::jthread> veterans;
  for (std::size_t hand = 0; hand < old_hands; ++hand) {
    veterans.emplace_back([&, hand] {
      for (std::size_t wave = 0; wave < waves; ++wave) {
        wave_begins.arrive_and_wait();
        for (std::size_t i = 0; i < all.size(); ++i) { submitted += visit(all, hand + i, ran); }
        wave_ends.arrive_and_wait();
        EXPECT_EQ(current_context(), nullptr);
      }
    });
  }
  for (std::size_t wave = 0; wave < waves; ++wave) {
    for (std::size_t i = 0; i < runtimes; ++i) {
      all.push_back(std::make_unique<runtime>(runtime_options{
          .devices = device_spec(1), .workers = static_cast<int>(i % 3), .window = 64}));
    }
    wave_begins.arrive_and_wait();
    for (std::size_t begun = 0; begun < threads;) {
      std::vector<std::jthread> crew;
      for (std::size_t i = 0; i < at_once && begun < threads; ++i, ++begun) {
        crew.emplace_back([&, begun] { submitted += visit(all, begun, ran); });
      }
    }
    wave_ends.arrive_and_wait();
    all.clear();  // with tasks still in the inboxes of threads that are gone
  }
  EXPECT_EQ(ran, submitted);
}

// stress: a thread ends at the moment its runtime does
TEST_F(Threads, ThatEndWhileTheirRuntimeEndsLoseNothing) {
  FLOTILLA_NEED_DEVICES(1);
  std::size_t const rounds = on_gpus() ? 10 : scaled(300, 20);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::atomic<int> ran{0};
    std::atomic<int> submitted{0};
    std::jthread ending;
    {
      runtime rt{{.devices = device_spec(1), .workers = static_cast<int>(round % 2)}};
      ending = std::jthread{[&] {
        for (int i = 0; i < 10; ++i) {
          (void)rt.submit([&ran](task_context&) { ++ran; });
        }
        submitted = 10;
        submitted.notify_all();
        // From here on the thread and the runtime race to their ends.
      }};
      submitted.wait(0);
    }
    ASSERT_EQ(ran, 10) << "round " << round;
  }
}

}  // namespace
}  // namespace flotilla::test

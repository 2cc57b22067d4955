// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Threads and runtimes that are created and destroyed in large numbers.

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

using runtime_list = std::vector<std::unique_ptr<runtime>>;

/// Submits a callable to each of three runtimes and waits for some of the callables.
/// @return the number of callables: three.
std::size_t submit_some(runtime_list const& all, std::size_t seed, std::atomic<std::size_t>& ran) {
  std::size_t submitted = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    runtime& rt = *all[(seed * 7 + i * 3) % all.size()];
    ticket const done = rt.submit([&ran](task_context&) { ++ran; });
    ++submitted;
    if ((seed + i) % 3 == 0) { done.wait(); }
  }
  return submitted;
}

// stress: short-lived threads end while their inboxes still contain tasks, and long-lived threads
// use many runtimes one after another
TEST_F(Threads, ShortLivedThreadsUseManyRuntimes) {
  FLOTILLA_NEED_CPU_DRIVER();  // on a GPU each context would need half a GiB
  constexpr std::size_t waves = 5, at_once = 20, long_lived = 3;
  std::size_t const runtimes = scaled(100, 10) / waves, threads = scaled(10'000, 500) / waves;
  std::atomic<std::size_t> ran{0}, submitted{0};
  runtime_list all;
  // Long-lived threads outlive the runtimes. Each thread caches its inboxes. A cached inbox of a
  // destroyed runtime must not be used for a new runtime at the same address.
  std::barrier<> wave_begins{long_lived + 1}, wave_ends{long_lived + 1};
  std::vector<std::jthread> long_lived_threads;
  for (std::size_t index = 0; index < long_lived; ++index) {
    long_lived_threads.emplace_back([&, index] {
      for (std::size_t wave = 0; wave < waves; ++wave) {
        wave_begins.arrive_and_wait();
        for (std::size_t i = 0; i < all.size(); ++i) {
          submitted += submit_some(all, index + i, ran);
        }
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
      std::vector<std::jthread> team;
      for (std::size_t i = 0; i < at_once && begun < threads; ++i, ++begun) {
        team.emplace_back([&, begun] { submitted += submit_some(all, begun, ran); });
      }
    }
    wave_ends.arrive_and_wait();
    all.clear();  // inboxes of ended threads may still hold tasks
  }
  EXPECT_EQ(ran, submitted);
}

// stress: no task is lost if a thread ends while the runtime is being destroyed
TEST_F(Threads, ThreadThatEndsWithItsRuntimeLosesNothing) {
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
        // This thread ends while the main thread destroys the runtime.
      }};
      submitted.wait(0);
    }
    ASSERT_EQ(ran, 10) << "round " << round;
  }
}

}  // namespace
}  // namespace flotilla::test

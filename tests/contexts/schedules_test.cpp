// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// All threads of a runtime follow the wait policies of its devices, in every kind of wait and while
// the runtime is idle.
#include "contexts_test.hpp"

#include <chrono>
#include <functional>

#include <test_contexts_kernels.hpp>

#include "processor_time.hpp"
#include "support/child.hpp"
#include "support/eventually.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;
using RuntimeSchedules = contexts_test;

constexpr wait_policy all_policies[] = {wait_policy::automatic, wait_policy::spin,
                                        wait_policy::yield, wait_policy::blocking};

runtime_options set_to(wait_policy how, int devices = 1) {
  runtime_options made{.devices = device_spec(devices), .workers = 1};
  made.settings.all.schedule = how;
  return made;
}

/// How much processor time a thread used in a wait. `taken` is the processor time divided by the
/// duration of the wait. `awake` also counts the time in which the thread was ready to run but had
/// no processor.
struct shares {
  double taken, awake;
};

/// Measures `wait` while a kernel is held. Releases the kernel as soon as the elapsed time or the
/// processor time of the waiting thread reaches `gone`.
shares share_of_wait(runtime& rt, std::function<void(runtime&, ticket const&)> const& wait,
                     std::chrono::milliseconds gone = 400ms) {
  test_program const program{rt};
  held_word word{rt};
  ticket const held = rt.submit(word.launch_of(program), {.device = device_ordinal{0}});
  EXPECT_TRUE(eventually([&] { return word.started(); }));
  std::chrono::nanoseconds waited{}, kept{};
  auto const waits = [&] {
    auto const before = kept_from_processors();
    wait(rt, held);
    kept = kept_from_processors() - before;
  };
  auto const taken = taken_while_waiting(
      waits, [&] { word.release(); },
      [&](auto so_far, auto by) {
        waited = by;
        return by >= gone || so_far >= gone;
      });
  std::chrono::duration<double> const all{waited};
  return {std::chrono::duration<double>(taken) / all,
          std::chrono::duration<double>(taken + kept) / all};
}

/// Returns whether `wait` sleeps: whether a thread uses almost no processor time in it. A
/// disturbance only adds processor time, so one low measurement is enough: a thread that spins
/// exceeds the limit in every measurement. With a sanitizer, each poll between two sleeps takes
/// about 60 us.
bool sleeps(runtime& rt, std::function<void(runtime&, ticket const&)> const& wait) {
  constexpr double limit = sanitized ? 0.3 : 0.1;
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (share_of_wait(rt, wait).taken < limit) { return true; }
  }
  return false;
}

struct way {
  char const* name;
  std::function<void(runtime&, ticket const&)> wait;
};
std::vector<way> all_ways() {
  return {
      {"wait", [](runtime&, ticket const& of) { of.wait(); }},
      {"wait_for", [](runtime&, ticket const& of) { EXPECT_TRUE(of.wait_for(test_timeout)); }},
      {"wait_any",
       [](runtime&, ticket const& of) {
         EXPECT_EQ(wait_any(std::span{&of, 1}), 0u);
       }},
      {"a wait for a host task",
       [](runtime& rt, ticket const& of) { rt.submit(host_task([] {}), {.after = {of}}).wait(); }},
      {"wait_idle", [](runtime& rt, ticket const&) { rt.wait_idle(); }}};
}

// C2.8 C2.91: a thread that waits for a device with the policy `blocking` sleeps, in every kind of
// wait
TEST_F(RuntimeSchedules, EveryWaitForABlockingDeviceSleeps) {
  runtime rt{set_to(wait_policy::blocking)};
  for (way const& each : all_ways()) { EXPECT_TRUE(sleeps(rt, each.wait)) << each.name; }
}

// C2.5: a thread that waits for a device with the policy `spin` spins, in every kind of wait
TEST_F(RuntimeSchedules, EveryWaitForASpinningDeviceSpins) {
  runtime rt{set_to(wait_policy::spin)};
  for (way const& each : all_ways()) {
    // The measured share is too low if the measuring thread loses its processor, so the test
    // repeats the measurement. One success is enough: a thread that yields and then sleeps never
    // exceeds 0.5.
    shares seen{};
    EXPECT_TRUE(eventually([&] {
      seen = share_of_wait(rt, each.wait, 50ms);
      return seen.awake > 0.5;
    })) << each.name
        << ": " << seen.taken << " of a processor, " << seen.awake << " awake";
  }
}

// C2.7: a thread that waits for a device with the policy `yield` gives its processor to other
// threads, in every kind of wait. A thread that spins would have half of the processor time
TEST_F(RuntimeSchedules, EveryWaitForAYieldingDeviceYields) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{set_to(wait_policy::yield)};
    test_program const program{rt};
    for (way const& each : all_ways()) {
      double const share = lowest_share(0.2, [&] {
        held_word word{rt};
        ticket const held = rt.submit(word.launch_of(program), {.device = device_ordinal{0}});
        EXPECT_TRUE(eventually([&] { return word.started(); }));
        return share_beside_a_rival([&] { each.wait(rt, held); }, [&] { word.release(); });
      });
      EXPECT_LT(share, 0.2) << each.name;
    }
  });
}

// C2.8: a timed wait for a device with the policy `blocking` returns soon after its deadline
TEST_F(RuntimeSchedules, ATimedWaitOfABlockingDeviceEndsInTime) {
  runtime rt{set_to(wait_policy::blocking)};
  test_program const program{rt};
  held_word word{rt};
  ticket const held = rt.submit(word.launch_of(program));
  EXPECT_TRUE(eventually([&] { return word.started(); }));
  EXPECT_FALSE(held.wait_for(20ms));
  // A thread may lose its processor, so the test uses the shortest delay of 50 attempts. If the
  // wait itself slept 0.5 ms too long, the delay would be too long in every attempt.
  auto best = std::chrono::nanoseconds::max();
  for (int i = 0; i < 50; ++i) {
    auto const until = std::chrono::steady_clock::now() + 4ms;
    EXPECT_FALSE(held.wait_until(until));
    best = std::min(best, std::chrono::nanoseconds{std::chrono::steady_clock::now() - until});
  }
  EXPECT_LT(best, 400us);
  word.release();
  held.wait();
}

// requirement: a thread that waits for several devices ignores the policies of devices without
// work. The thread spins if a device with work has the policy `spin`
TEST_F(RuntimeSchedules, OfDevicesWithWorkTheMostWakefulDecides) {
  FLOTILLA_NEED_DEVICES(2);
  runtime_options options = set_to(wait_policy::blocking, 2);
  options.settings.devices[1].schedule = wait_policy::spin;
  runtime rt{options};
  // Only the device with the policy `blocking` has work, so the thread sleeps.
  EXPECT_TRUE(sleeps(rt, [](runtime& all, ticket const&) { all.wait_idle(); }));
  // Both devices have work, so the thread spins.
  test_program const program{rt};
  held_word words[] = {held_word{rt}, held_word{rt}};
  std::vector<ticket> held;
  for (unsigned i = 0; i < 2; ++i) {
    held.push_back(rt.submit(words[i].launch_of(program), {.device = device_ordinal{i}}));
    EXPECT_TRUE(eventually([&] { return words[i].started(); }));
  }
  auto const release = [&] {
    for (held_word& each : words) { each.release(); }
  };
  auto const spinning = [](auto so_far, auto) { return so_far >= 100ms; };
  EXPECT_GE(taken_while_waiting([&] { rt.wait_idle(); }, release, spinning), 100ms);
}

// requirement: an idle runtime uses no processor time, whatever the wait policy
TEST_F(RuntimeSchedules, AnIdleRuntimeTakesNoProcessor) {
  // Not counted is what it costs this thread to wake up, up to 1 ms on a machine that was idle.
  // ThreadSanitizer has a thread that wakes every 100 ms and uses 0.2 %. A worker that polls every
  // 500 us would use at least 2 %.
  constexpr double limit = sanitized ? 0.005 : 0.001;
  for (wait_policy const how : all_policies) {
    runtime rt{set_to(how)};
    test_program const program{rt};
    rt.submit(program.nothing.with_shape({1}, {1})()).wait();
    // Workers end after their linger time, and oneTBB's threads go to sleep a little later. So the
    // test repeats the measurement until the share is low.
    double share = 1;
    EXPECT_TRUE(eventually([&] {
      share = share_of_other_threads_while([] { std::this_thread::sleep_for(300ms); });
      return share < limit;
    })) << to_string(how)
        << ": " << share;
  }
}

// requirement: while a thread sleeps in a wait for a device with the policy `blocking`, no other
// thread of the process uses processor time
TEST_F(RuntimeSchedules, NoThreadTakesAProcessorForABlockingDevice) {
  runtime rt{set_to(wait_policy::blocking)};
  auto const doze =
      rt.load(test_contexts_kernels).kernel<unsigned long long>("doze").with_shape({1}, {1});
  rt.submit(doze(1'000'000ull)).wait();
  // Measured: about 5 % of a processor, or 10 % if a thread can only sleep for fixed times. With a
  // sanitizer, each poll between two sleeps of 500 us takes 60 us, and two threads poll for the end
  // of `then`. A thread that spins or yields would use 100 %.
  constexpr double limit = sanitized ? 0.5 : 0.25;
  unsigned long long const each_ns = sanitized ? 100'000'000 : 5'000'000;
  int const count = sanitized ? 4 : 60;
  struct {
    char const* name;
    std::function<void()> wait;
  } const ways[] = {
      {"wait", [&] { rt.submit(doze(each_ns)).wait(); }},
      {"wait_for", [&] { EXPECT_TRUE(rt.submit(doze(each_ns)).wait_for(test_timeout)); }},
      {"then",
       [&] {
         rt.submit(doze(each_ns)).then([](std::exception_ptr) {});
         rt.wait_idle();
       }},
      {"wait_idle",
       [&] {
         static_cast<void>(rt.submit(doze(each_ns)));
         rt.wait_idle();
       }},
  };
  for (auto const& each : ways) {
    double const share = lowest_share(limit, [&] {
      return share_taken_while([&] {
        for (int i = 0; i < count; ++i) { each.wait(); }
      });
    });
    EXPECT_LT(share, limit) << each.name;
  }
}

}  // namespace
}  // namespace flotilla::test

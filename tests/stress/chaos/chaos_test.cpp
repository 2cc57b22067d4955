// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Devices that can be lost run a random mix of tasks whose results are known in advance, while they
// fault, are killed and hang. No task is lost, doubled or wrong, and no wait hangs. A repeatable
// task may run twice: it runs again if it may have run on a lost device, and fails the second time.
//
// FLOTILLA_TEST_SECONDS is the time (default: 5), and FLOTILLA_TEST_SEED the first seed.
// FLOTILLA_TEST_HARM is the only harm to worker processes: fault, hang, kill or kill_any.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>
#include <test_chaos_kernels.hpp>

#include "containment/lossy_devices.hpp"
#include "stress/chaos/client.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/inside.hpp"
#include "support/kernels.hpp"
#include "support/worker_processes.hpp"

namespace flotilla::test::chaos {
namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int max_devices = 4;

unsigned number_of(char const* variable, unsigned otherwise) {
  char const* const text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

class Chaos : public guest_test {
 protected:
  static runtime_options options(int devices) {
    runtime_options made;
    made.devices = device_spec(devices);
    made.workers = 2;
    made.stuck_after = 200ms;
    made.restart = {.intensity = 1'000'000, .back_off = 0ms};
    return made;
  }
  /// Runs three clients, and calls `harm` every few milliseconds, until the time is over.
  template <class Harm>
  void run(runtime& rt, Harm const& harm) {
    test_program const program{rt};
    auto const end = clock::now() + std::chrono::seconds{number_of("FLOTILLA_TEST_SECONDS", 5)};
    std::vector<std::thread> clients;
    for (unsigned i = 0; i < 3; ++i) {
      clients.emplace_back([&, i] { client{rt, program, seed_ * 100 + i, all_}.run_until(end); });
    }
    std::mt19937 random{seed_};
    while (clock::now() < end && !HasFailure()) { harm(random); }
    for (std::thread& each : clients) { each.join(); }
    rt.wait_idle();
  }
  /// Prints what happened, and what was written to stderr if the test has failed.
  void report(std::string const& written, std::uint64_t losses) const {
    if (HasFailure()) { std::fputs(written.c_str(), stderr); }
    std::printf("seed %u: %llu tasks, of which %llu failed; %llu losses\n", seed_,
                static_cast<unsigned long long>(all_.tasks.load()),
                static_cast<unsigned long long>(all_.lost.load()),
                static_cast<unsigned long long>(losses));
    EXPECT_GT(all_.tasks.load(), 0u);
    EXPECT_GT(losses, 0u);
  }
  static void pause(std::mt19937& random, unsigned most) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1 + random() % most});
  }

  totals all_;
  unsigned const seed_ = number_of("FLOTILLA_TEST_SEED", 1);
};

// stress: devices in this process, which are lost and replaced in microseconds
TEST_F(Chaos, NothingIsLostDoubledWrongOrHung) {
  FLOTILLA_NEED_CPU_DRIVER();
  lossy_devices devices{max_devices};
  dispatch::tuning tuned;
  tuned.recovery = &devices;
  ::testing::internal::CaptureStderr();  // the reports of kernels that hang
  {
    runtime rt = make_runtime(options(max_devices), tuned);
    run(rt, [&](std::mt19937& random) {
      auto const which = static_cast<int>(random() % max_devices);
      device const& device = rt.devices()[static_cast<std::size_t>(which)];
      switch (random() % 4) {
        case 0:
          testing::fault_kernel(device, 1 + random() % 20, driver_status::illegal_address);
          break;
        case 1: testing::hang_kernel(device, 1 + random() % 20); break;
        default: devices.crash(which); break;
      }
      pause(random, 20);
    });
    testing::clear_faults();
  }
  report(::testing::internal::GetCapturedStderr(),
         static_cast<std::uint64_t>(devices.replacements()));
}

/// Tasks that fault and tasks that never end. Each must fail with device_fault.
class harmful_tasks {
 public:
  explicit harmful_tasks(runtime& rt)
      : rt_(rt),
        trap_(rt.load(test_chaos_kernels).kernel<>("fault_trap").with_shape({1}, {1})()),
        hold_(rt.load(test_image()).kernel<word*>("hold_until").with_shape({1}, {1})) {
    for (unsigned i = 0; i < rt.devices().size(); ++i) {
      flags_.emplace_back(rt, device_ordinal{i}, 2);
      rt.submit(flags_.back().span().fill(0)).wait();
    }
  }
  void fault(device_ordinal device) { submit(trap_, device); }
  /// Submits a kernel that never ends by itself.
  void hang(device_ordinal device) { submit(hold_(flags_[device.value]), device); }
  /// Waits for all tasks.
  void check() {
    for (ticket const& each : tasks_) { EXPECT_EQ(ending_of(each), ending::lost); }
    tasks_.clear();
  }

 private:
  void submit(launch const& what, device_ordinal device) {
    try {
      tasks_.push_back(rt_.submit(what, {.device = device, .batch = false}));
    } catch (device_fault const&) { ADD_FAILURE() << "a device is in quarantine"; }
    // Never many, because each costs its device a successor.
    if (tasks_.size() == 8) { check(); }
  }

  runtime& rt_;
  launch trap_;
  kernel<word*>::configured hold_;
  std::vector<device_buffer<word>> flags_;
  std::vector<ticket> tasks_;
};

/// What is done to worker processes. `kill_any` may kill a spare.
enum class harm { fault, hang, kill, kill_any };
constexpr char const* harm_names[] = {"fault", "hang", "kill", "kill_any"};
constexpr harm usual[] = {harm::hang, harm::fault,    harm::fault, harm::kill,
                          harm::kill, harm::kill_any, harm::kill,  harm::kill};

/// The only harm to do, if FLOTILLA_TEST_HARM names one.
std::optional<harm> only_harm() {
  char const* const name = std::getenv("FLOTILLA_TEST_HARM");
  for (std::size_t i = 0; name != nullptr && i < std::size(harm_names); ++i) {
    if (std::string_view{name} == harm_names[i]) { return static_cast<harm>(i); }
  }
  return std::nullopt;
}

/// What was done, and when, to explain a failure.
class harm_log {
 public:
  void note(harm what, device_ordinal device) { all_.push_back({clock::now(), what, device}); }
  void print_last() const {
    auto const now = clock::now();
    for (std::size_t i = all_.size() - std::min<std::size_t>(all_.size(), 20); i < all_.size();
         ++i) {
      std::printf("%.3f s before the end: %s on device %u\n",
                  std::chrono::duration<double>(now - all_[i].when).count(),
                  harm_names[static_cast<std::size_t>(all_[i].what)], all_[i].device.value);
    }
  }

 private:
  struct entry {
    clock::time_point when;
    harm what;
    device_ordinal device;
  };
  std::vector<entry> all_;
};

/// Kills a worker process, which may be a spare.
void kill_any_worker(std::mt19937& random) {
  std::vector<pid_t> const workers = workers_of_this_process();
  if (!workers.empty()) { ::kill(workers[random() % workers.size()], SIGKILL); }
}

class ChaosOfWorkers : public Chaos {
 protected:
  /// @param count     The number of devices.
  /// @param isolated  How many of them are isolated: the first ones.
  void run_with_workers(int count, int isolated);
};

void ChaosOfWorkers::run_with_workers(int count, int isolated) {
  std::uint64_t losses = 0;
  harm_log done;
  ::testing::internal::CaptureStderr();
  {
    runtime_options with = options(count);
    for (int i = 0; i < isolated; ++i) {
      device_settings& each = with.settings.devices[static_cast<unsigned>(i)];
      each.isolation = isolation::process;
      each.spare = seed_ % 2 == 0 ? spare::warm : spare::none;
    }
    runtime rt{std::move(with)};
    harmful_tasks tasks{rt};
    auto const only = only_harm();
    std::vector<pid_t> const first = workers_of_this_process();
    run(rt, [&](std::mt19937& random) {
      device_ordinal const device{
          static_cast<unsigned>(random() % static_cast<unsigned>(isolated))};
      // A device that is lost again and again before its successor has started makes no progress.
      if (health(rt, device) == device_health::ok) {
        harm const what = only.value_or(usual[random() % std::size(usual)]);
        done.note(what, device);
        switch (what) {
          case harm::hang: tasks.hang(device); break;
          case harm::fault: tasks.fault(device); break;
          case harm::kill_any: kill_any_worker(random); break;
          case harm::kill: testing::kill_worker(rt, device); break;
        }
        ++losses;
      }
      pause(random, 100);
    });
    tasks.check();
    std::vector<pid_t> const now = workers_of_this_process();
    bool const any_is_gone = std::any_of(first.begin(), first.end(), [&](pid_t each) {
      return std::find(now.begin(), now.end(), each) == now.end();
    });
    EXPECT_TRUE(any_is_gone) << "no worker was ever replaced";
  }
  report(::testing::internal::GetCapturedStderr(), losses);
  if (HasFailure()) { done.print_last(); }
}

// stress: worker processes that fault, are killed and hang
TEST_F(ChaosOfWorkers, NothingIsLostDoubledWrongOrHung) {
  int const count = std::min(max_devices, devices_there());
  FLOTILLA_NEED_DEVICES(1);
  run_with_workers(count, count);
}

// stress: the same beside devices in this process, whose runtime is never poisoned
TEST_F(ChaosOfWorkers, NothingIsLostBesideDevicesInThisProcess) {
  int const count = std::min(max_devices, devices_there());
  FLOTILLA_NEED_DEVICES(2);
  run_with_workers(count, count / 2);
}

}  // namespace
}  // namespace flotilla::test::chaos

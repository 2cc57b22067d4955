// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A task faults in the middle of a flood. All tickets end soon after the driver shows the fault,
// the error names the kernel that faulted, and no wait hangs. After a fault a process can no longer
// use the driver, so each flood runs in a process of its own.
//
// FLOTILLA_TEST_FAULTS is the number of floods for each kind of fault. Default: 1.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <test_fault_flood_kernels.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/scale.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::seconds max_time_to_end{1};

/// Watches for the moment when the driver first shows a fault, through a context of its own.
class fault_watch {
 public:
  fault_watch() : thread_{[this] { watch(); }} {}
  ~fault_watch() {
    over_ = true;
    thread_.join();
  }
  void wait_until_ready() const {
    EXPECT_TRUE(eventually([&] { return ready_.load(); }));
  }
  /// The time when the fault became visible. Empty if it is not yet visible.
  [[nodiscard]] std::optional<clock::time_point> seen() const {
    auto const at = seen_.load();
    return at == clock::time_point{} ? std::nullopt : std::optional{at};
  }

 private:
  void watch() {
    driver::table const& driver = driver_in_use();
    CUcontext context{};
    CUstream stream{};
    if (driver.ctx_create(&context, 0, 0) != CUDA_SUCCESS ||
        driver.stream_create(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) {
      ADD_FAILURE() << "the watch has no context";
      return;
    }
    ready_ = true;
    while (!over_) {
      CUresult const answer = driver.stream_query(stream);
      if (answer != CUDA_SUCCESS && answer != CUDA_ERROR_NOT_READY) {
        seen_ = clock::now();
        return;  // the context cannot be destroyed after a fault
      }
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
    driver.ctx_destroy(context);
  }

 private:
  std::atomic<bool> over_{false};
  std::atomic<bool> ready_{false};
  std::atomic<clock::time_point> seen_{clock::time_point{}};
  std::thread thread_;
};

/// A kind of fault: the name of its kernel, and a launch of it.
struct fault_kind {
  char const* kernel;
  bool on_cpu_devices;
  launch (*make)(program const& loaded, std::uint32_t* memory);
};

template <class... Parameters>
launch one_thread(program const& loaded, char const* name, Parameters... arguments) {
  return loaded.kernel<Parameters...>(name).with_shape({1}, {1})(arguments...);
}

fault_kind const kinds[] = {
    {"fault_trap", true,
     [](program const& p, std::uint32_t*) { return one_thread(p, "fault_trap"); }},
    {"fault_assert", true,
     [](program const& p, std::uint32_t*) { return one_thread(p, "fault_assert", 0); }},
    {"fault_illegal_address", false,
     [](program const& p, std::uint32_t*) {
       return one_thread(p, "fault_illegal_address",
                         reinterpret_cast<std::uint32_t*>(std::uintptr_t{64}));
     }},
    {"fault_misaligned_address", false,
     [](program const& p, std::uint32_t* memory) {
       return one_thread(p, "fault_misaligned_address", reinterpret_cast<char*>(memory));
     }},
    {"fault_stack_overflow", false,
     [](program const& p, std::uint32_t* memory) {
       return one_thread(p, "fault_stack_overflow", 1'000'000u, memory);
     }},
};

/// Submits `tasks` tasks, of which one faults. A third of them is posted. Checks how they end.
void flood(fault_kind const& kind, std::size_t tasks, std::size_t guilty, int workers) {
  std::atomic<int> handled{0};
  fault_watch watch;
  watch.wait_until_ready();
  runtime rt{{.devices = device_spec(1), .workers = workers, .on_error = [&](std::exception_ptr) {
                ++handled;
              }}};
  program const loaded = rt.load(test_fault_flood_kernels);
  device_buffer<std::uint32_t> memory{rt, device_ordinal{0}, 16};
  launch const up = one_thread(loaded, "count_up", memory.data());
  launch const down = one_thread(loaded, "count_down", memory.data());
  std::vector<ticket> open;
  open.reserve(tasks);
  bool any_posted = false;
  try {
    for (std::size_t i = 0; i < tasks; ++i) {
      if (i == guilty) {
        open.push_back(rt.submit(kind.make(loaded, memory.data() + 4), {.label = "the guilty"}));
      } else if (i % 3 == 0) {
        rt.post(i % 2 == 0 ? up : down);
        any_posted = true;
      } else {
        open.push_back(rt.submit(i % 2 == 0 ? up : down));
      }
    }
  } catch (poisoned const&) {}  // the fault was noticed before the last submit
  std::size_t failed = 0;
  std::string message;
  for (ticket const& each : open) {
    if (!ended(each)) {
      ADD_FAILURE() << "a ticket is still open";
      return;
    }
    try {
      each.wait();
    } catch (poisoned const& error) {
      ++failed;
      if (message.empty()) { message = error.what(); }
    } catch (error const& other) { ADD_FAILURE() << "not poisoned: " << other.what(); }
  }
  auto const done = clock::now();
  EXPECT_TRUE(eventually([&] { return watch.seen().has_value(); }));
  auto const took = done - watch.seen().value_or(done);
  EXPECT_LE(took, max_time_to_end);
  EXPECT_GT(failed, 0u);
  EXPECT_THAT(message, HasSubstr(kind.kernel));
  EXPECT_THROW((void)rt.submit(up), poisoned);
  rt.wait_idle();
  EXPECT_FALSE(rt.pump());
  // Posted tasks that were open are reported by one call.
  std::this_thread::sleep_for(std::chrono::milliseconds{5});
  rt.pump();
  EXPECT_LE(handled, any_posted ? 1 : 0);
  std::printf("%s: %zu of %zu tickets failed; all had ended %.1f ms after the fault was visible\n",
              kind.kernel, failed, open.size(),
              std::chrono::duration<double, std::milli>(took).count());
}

class FaultFlood : public guest_test,
                   public ::testing::WithParamInterface<std::tuple<fault_kind, int>> {};
INSTANTIATE_TEST_SUITE_P(kinds, FaultFlood,
                         ::testing::Combine(::testing::ValuesIn(kinds), ::testing::Values(0, 2)),
                         [](auto const& given) {
                           return std::string{std::get<0>(given.param).kernel} + "_workers" +
                                  std::to_string(std::get<1>(given.param));
                         });

// stress: every open ticket ends within a second after the fault can be seen
TEST_P(FaultFlood, EndsAllTicketsAndSuspectsTheKernel) {
  FLOTILLA_NEED_DEVICES(1);
  auto const [kind, workers] = GetParam();
  if (!kind.on_cpu_devices) { FLOTILLA_NEED_GPUS(1); }
  char const* const given = std::getenv("FLOTILLA_TEST_FAULTS");
  int const floods = given == nullptr ? 1 : std::atoi(given);
  std::size_t const tasks = scaled(100'000, 2'000);
  for (int i = 0; i < floods; ++i) {
    std::size_t const guilty =
        (std::size_t{7919} * static_cast<unsigned>(i + 1) + tasks / 3) % tasks;
    FLOTILLA_EXPECT_IN_CHILD([&] { flood(kind, tasks, guilty, workers); });
  }
}

}  // namespace
}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Random mixes of faults that depend only on their seed.
#include <algorithm>
#include <array>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include <flotilla/error/error.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "driver/cpu_devices.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace testing {

namespace {

constexpr std::string_view entries[] = {
#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol) #name,
#include "base/driver_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY
};

/// Whether a runtime calls this function while tasks run.
constexpr bool is_for_tasks(std::string_view entry) {
  for (std::string_view const prefix :
       {"cuLaunch", "cuGraphLaunch", "cuGraphExec", "cuEventRecord", "cuStreamWait",
        "cuStreamWrite", "cuMemcpy", "cuMemset", "cuMemAlloc", "cuMemHost"}) {
    if (entry.starts_with(prefix)) { return entry != "cuGraphExecDestroy"; }
  }
  return false;
}
constexpr std::size_t call_count =
    std::count_if(std::begin(entries), std::end(entries), is_for_tasks);
constexpr auto calls = [] {
  std::array<std::string_view, call_count> all;
  std::copy_if(std::begin(entries), std::end(entries), all.begin(), is_for_tasks);
  return all;
}();
constexpr std::array<std::string_view, 3> statuses{
    "CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "CUDA_ERROR_NOT_SUPPORTED"};

/// Random numbers. The distributions of the standard library differ between implementations, so
/// they would make the same seed mean different faults.
class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed) {}
  /// Returns a number from 0 to `count` - 1.
  std::uint64_t below(std::uint64_t count) { return engine_() % count; }
  template <class Array>
  auto one_of(Array const& all) {
    return std::string{all[below(all.size())]};
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace

std::string inject_random(std::uint64_t seed, random_faults const& mix) {
  if (mix.devices < 1) {
    throw invalid_argument("inject_random: devices is " + std::to_string(mix.devices) +
                           ", but must be at least 1");
  }
  if (mix.among_calls < 1) {
    throw invalid_argument("inject_random: among_calls is 0, but must be at least 1");
  }
  dice random{seed};
  std::string text;
  auto const add = [&text](std::string const& rule) { text += (text.empty() ? "" : ",") + rule; };
  auto const number = [&](std::uint64_t count) { return std::to_string(random.below(count)); };
  auto const device = [&] { return number(static_cast<std::uint64_t>(mix.devices)); };
  for (unsigned i = 0; i < mix.failing_calls; ++i) {
    std::string const entry = random.one_of(calls);
    std::string const nth = std::to_string(1 + random.below(mix.among_calls));
    add("fail=" + entry + "@" + nth + ":" + random.one_of(statuses));
  }
  for (unsigned i = 0; i < mix.late_calls; ++i) {
    std::string const entry = random.one_of(calls);
    add("delay=" + entry + ":" + number(200));
  }
  for (int each = 0; mix.slow_devices && each < mix.devices; ++each) {
    add("slow=" + std::to_string(each) + ":" + std::to_string(1 + random.below(4)));
  }
  for (unsigned i = 0; i < mix.hangs; ++i) {
    std::string const where = device();
    std::string const nth = std::to_string(1 + random.below(50));
    add("hang=" + where + "@" + nth + ":" + std::to_string(1 + random.below(20'000)));
  }
  if (mix.fault) {
    std::string const where = device();
    add("fault=" + where + "@" + std::to_string(1 + random.below(100)) +
        ":CUDA_ERROR_ILLEGAL_ADDRESS");
  }
  driver::inject(text);
  return text;
}

}  // namespace testing
}  // namespace v0_1
}  // namespace flotilla

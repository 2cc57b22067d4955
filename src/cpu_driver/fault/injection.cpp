// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/fault/injection.hpp"

#include <chrono>
#include <condition_variable>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "cpu_driver/fault/fault.hpp"
#include "cpu_driver/fault/rule_text.hpp"

namespace flotilla::cpu_driver::injection {
namespace {

// A kernel that does not end: for a time, or until its device is released.
struct hang {
  unsigned long long left;
  std::chrono::microseconds time;
};
constexpr std::chrono::microseconds until_released = std::chrono::microseconds::max();

struct delayed {
  std::chrono::microseconds time;
  std::size_t calls = 0;  // so far
};

struct rules {
  std::map<int, double> slow;
  std::map<std::string, delayed, std::less<>> delays;
  std::multimap<std::string, countdown, std::less<>> failures;
  std::multimap<int, countdown> faults;
  std::multimap<int, hang> hangs;
  std::multimap<int, unsigned long long> lost_values;  // how many values from now, by device
  std::set<int> to_release;
  std::map<int, std::size_t> bytes_per_second;  // of copies
  std::map<int, std::size_t> capacities;
  std::set<std::pair<int, int>> separated;  // {from, to}
  std::map<int, CUcomputemode> modes;
  std::set<int> without_priorities;
  std::set<int> reversing;  // devices that run the last block of a grid first
};

std::mutex mutex;
rules active;  // guarded by mutex
// How often each device was released, and how often all of them; guarded by mutex.
std::map<int, unsigned long> released;
unsigned long all_released = 0;
std::condition_variable release;  // notified when `released` changes

// Removes the version suffix: "cuMemAlloc_v2" becomes "cuMemAlloc".
std::string_view without_version(std::string_view entry) noexcept {
  auto const mark = entry.rfind("_v");
  bool const versioned = mark != std::string_view::npos && mark + 3 == entry.size();
  return versioned ? entry.substr(0, mark) : entry;
}

// Reads "DEVICE@N" or "DEVICE@N:MICROSECONDS".
void add_hang(rules& to, std::string_view text) {
  auto const [which, time] = text.find(':') == std::string_view::npos
                                 ? std::pair{text, std::string_view{}}
                                 : split(text, ':', "hang=DEVICE@N:MICROSECONDS");
  auto const [device, count] = split(which, '@', "hang=DEVICE@N");
  to.hangs.emplace(parse_device(device),
                   hang{parse_count(count), time.empty() ? until_released : parse_time(time)});
}

// Adds a rule about a property of a device.
void add_property(rules& to, std::string_view kind, std::string_view rest) {
  if (kind == "mode") {
    auto const [device, mode] = split(rest, ':', "mode=DEVICE:MODE");
    to.modes[parse_device(device)] = parse_mode(mode);
  } else if (kind == "priorities") {
    auto const [device, text] = split(rest, ':', "priorities=DEVICE:none");
    if (text != "none") { throw bad_part("'" + std::string(text) + "': expected none"); }
    to.without_priorities.insert(parse_device(device));
  } else if (kind == "blocks") {
    auto const [device, text] = split(rest, ':', "blocks=DEVICE:reversed");
    if (text != "reversed") { throw bad_part("'" + std::string(text) + "': expected reversed"); }
    to.reversing.insert(parse_device(device));
  } else {
    throw bad_part(
        "'" + std::string(kind) +
        "' is not a kind of rule: expected slow, delay, fail, fault, hang, lose, release, copies, "
        "capacity, no_peer, mode, priorities or blocks");
  }
}

void add(rules& to, std::string_view part) {
  auto const [kind, rest] = split(part, '=', "KIND=...");
  if (kind == "slow") {
    auto const [device, factor] = split(rest, ':', "slow=DEVICE:FACTOR");
    to.slow[parse_device(device)] = parse_factor(factor);
  } else if (kind == "delay") {
    auto const [entry, text] = split(rest, ':', "delay=ENTRY:MICROSECONDS");
    to.delays[parse_entry(entry)] = {parse_time(text)};
  } else if (kind == "fail") {
    auto const [entry, made] = parse_countdown(rest, "fail=ENTRY@N:STATUS");
    to.failures.emplace(parse_entry(entry), made);
  } else if (kind == "fault") {
    auto const [device, made] = parse_countdown(rest, "fault=DEVICE@N:STATUS");
    to.faults.emplace(parse_device(device), made);
  } else if (kind == "hang") {
    add_hang(to, rest);
  } else if (kind == "lose") {
    auto const [device, count] = split(rest, '@', "lose=DEVICE@N");
    to.lost_values.emplace(parse_device(device), parse_count(count));
  } else if (kind == "release") {
    to.to_release.insert(parse_device(rest));
  } else if (kind == "copies") {
    auto const [device, text] = split(rest, ':', "copies=DEVICE:BYTES_PER_SECOND");
    auto const bytes = parse_bytes(text);
    if (!bytes || *bytes == 0) {
      throw bad_part("'" + std::string(text) +
                     "' is not a rate: expected bytes per second, such as 1GiB");
    }
    to.bytes_per_second[parse_device(device)] = *bytes;
  } else if (kind == "capacity") {
    auto const [device, text] = split(rest, ':', "capacity=DEVICE:BYTES");
    auto const bytes = parse_bytes(text);
    if (!bytes) {
      throw bad_part("'" + std::string(text) +
                     "' is not a size: expected a number of bytes such as 512MiB");
    }
    to.capacities[parse_device(device)] = *bytes;
  } else if (kind == "no_peer") {
    auto const [from, other] = split(rest, ':', "no_peer=FROM:TO");
    std::pair const devices{parse_device(from), parse_device(other)};
    if (devices.first == devices.second) {
      throw bad_part("'" + std::string(rest) + "' names the same device twice");
    }
    to.separated.insert(devices);
  } else {
    add_property(to, kind, rest);
  }
}

// Decrements every countdown in the range, and removes each countdown that reaches 0. Returns the
// status of the first removed countdown, or CUDA_SUCCESS if none was removed.
template <class Map, class Range>
CUresult count_down(Map& all, Range range) noexcept {
  CUresult reached = CUDA_SUCCESS;
  for (auto next = range.first; next != range.second;) {
    if (--next->second.left == 0) {
      if (reached == CUDA_SUCCESS) { reached = next->second.status; }
      next = all.erase(next);
    } else {
      ++next;
    }
  }
  return reached;
}

}  // namespace

bool apply(std::string_view spec, std::string& error) {
  std::lock_guard const lock(mutex);
  rules wanted = active;
  std::string_view rest = spec;
  while (!rest.empty()) {
    std::string_view const part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    try {
      add(wanted, part);
    } catch (bad_part const& wrong) {
      error = "injection '" + std::string(part) + "': " + wrong.what();
      return false;
    }
  }
  active = std::move(wanted);
  for (int const device : std::exchange(active.to_release, {})) { ++released[device]; }
  release.notify_all();
  // release: pairs with the acquire in armed()
  if (!spec.empty()) { detail::armed.store(true, std::memory_order_release); }
  return true;
}

void clear() {
  std::lock_guard const lock(mutex);
  active = {};
  ++all_released;
  release.notify_all();
  detail::armed.store(false, std::memory_order_release);
}

CUresult before(char const* entry) noexcept {
  std::string_view const name = without_version(entry);
  std::chrono::microseconds delay{0};
  CUresult failure = CUDA_SUCCESS;
  {
    std::lock_guard const lock(mutex);
    if (auto const found = active.delays.find(name); found != active.delays.end()) {
      delay = found->second.time;
      ++found->second.calls;
    }
    failure = count_down(active.failures, active.failures.equal_range(name));
  }
  if (delay.count() > 0) { std::this_thread::sleep_for(delay); }
  return failure;
}

std::size_t delayed_calls(char const* entry) {
  std::lock_guard const lock(mutex);
  auto const found = active.delays.find(std::string_view{entry});
  return found == active.delays.end() ? 0 : found->second.calls;
}

CUresult next_kernel(int device) noexcept {
  std::lock_guard const lock(mutex);
  return count_down(active.faults, active.faults.equal_range(device));
}

void hang_kernel(int device) noexcept {
  std::unique_lock lock(mutex);
  auto time = std::chrono::microseconds::zero();
  auto const [first, last] = active.hangs.equal_range(device);
  for (auto next = first; next != last;) {
    if (--next->second.left != 0) {
      ++next;
    } else {
      time = std::max(time, next->second.time);
      next = active.hangs.erase(next);
    }
  }
  if (time == std::chrono::microseconds::zero()) { return; }
  // Does not allocate: host memory may have run out.
  auto const releases = [device] {
    auto const found = released.find(device);
    return all_released + (found == released.end() ? 0 : found->second);
  };
  unsigned long const before = releases();
  auto const begun = std::chrono::steady_clock::now();
  // A fault on another device ends the kernel too, and nobody notifies `release` then.
  constexpr std::chrono::milliseconds between_looks{5};
  while (releases() == before && fault::status(device) == CUDA_SUCCESS &&
         (time == until_released || std::chrono::steady_clock::now() - begun < time)) {
    release.wait_for(lock, std::min<std::chrono::microseconds>(between_looks, time));
  }
}

bool loses_value(int device) noexcept {
  std::lock_guard const lock(mutex);
  bool is_lost = false;
  auto const [first, last] = active.lost_values.equal_range(device);
  for (auto next = first; next != last;) {
    bool const is_this = --next->second == 0;
    is_lost = is_lost || is_this;
    next = is_this ? active.lost_values.erase(next) : std::next(next);
  }
  return is_lost;
}

std::chrono::nanoseconds time_of_copy(int device, std::size_t bytes) noexcept {
  std::lock_guard const lock(mutex);
  auto const found = active.bytes_per_second.find(device);
  if (found == active.bytes_per_second.end()) { return std::chrono::nanoseconds{0}; }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * static_cast<double>(bytes) /
                                                            static_cast<double>(found->second)));
}

double slowness(int device) noexcept {
  std::lock_guard const lock(mutex);
  auto const found = active.slow.find(device);
  return found != active.slow.end() ? found->second : 1;
}

std::optional<std::size_t> capacity(int device) {
  std::lock_guard const lock(mutex);
  auto const found = active.capacities.find(device);
  return found != active.capacities.end() ? std::optional(found->second) : std::nullopt;
}

bool are_separated(int from, int to) noexcept {
  std::lock_guard const lock(mutex);
  return active.separated.contains({from, to});
}

CUcomputemode compute_mode(int device) noexcept {
  std::lock_guard const lock(mutex);
  auto const found = active.modes.find(device);
  return found != active.modes.end() ? found->second : CU_COMPUTEMODE_DEFAULT;
}

bool has_priorities(int device) noexcept {
  std::lock_guard const lock(mutex);
  return !active.without_priorities.contains(device);
}

bool reverses_blocks(int device) noexcept {
  std::lock_guard const lock(mutex);
  return active.reversing.contains(device);
}

}  // namespace flotilla::cpu_driver::injection

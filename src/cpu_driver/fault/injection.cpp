// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/fault/injection.hpp"

#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "cpu_driver/base/entry_names.hpp"
#include "cpu_driver/base/environment.hpp"
#include "cpu_driver/base/error_names.hpp"

namespace flotilla::cpu_driver::injection {
namespace {

// Counts down calls or kernels. The rule takes effect when `left` reaches 0.
struct countdown {
  unsigned long long left;
  CUresult status;
};

struct rules {
  std::map<int, double> slow;
  std::map<std::string, std::chrono::microseconds, std::less<>> delays;
  std::multimap<std::string, countdown, std::less<>> failures;
  std::multimap<int, countdown> faults;
  std::map<int, std::size_t> capacities;
  std::set<std::pair<int, int>> separated;  // {from, to}
  std::map<int, CUcomputemode> modes;
  std::set<int> without_priorities;
};

std::mutex mutex;
rules active;  // guarded by mutex

// Removes the version suffix: "cuMemAlloc_v2" becomes "cuMemAlloc".
std::string_view without_version(std::string_view entry) noexcept {
  auto const mark = entry.rfind("_v");
  bool const versioned = mark != std::string_view::npos && mark + 3 == entry.size();
  return versioned ? entry.substr(0, mark) : entry;
}

struct bad_part : std::runtime_error {
  using std::runtime_error::runtime_error;
};

int parse_device(std::string_view text) {
  auto const ordinal = parse_number(text);
  if (!ordinal || *ordinal >= max_devices) {
    throw bad_part("'" + std::string(text) + "' is not a device: expected 0 to " +
                   std::to_string(max_devices - 1));
  }
  return static_cast<int>(*ordinal);
}

std::string parse_entry(std::string_view text) {
  if (!is_entry(text)) {
    throw bad_part(
        "'" + std::string(text) +
        "' is not an entry point of this driver: expected a name such as cuLaunchKernel");
  }
  return std::string(text);
}

CUresult parse_status(std::string_view text) {
  auto const status = error_by_name(text);
  if (!status || *status == CUDA_SUCCESS) {
    throw bad_part(
        "'" + std::string(text) +
        "' is not an error: expected a name such as CUDA_ERROR_OUT_OF_MEMORY, or a number");
  }
  return *status;
}

CUcomputemode parse_mode(std::string_view text) {
  if (text == "default") { return CU_COMPUTEMODE_DEFAULT; }
  if (text == "prohibited") { return CU_COMPUTEMODE_PROHIBITED; }
  if (text == "exclusive") { return CU_COMPUTEMODE_EXCLUSIVE_PROCESS; }
  throw bad_part("'" + std::string(text) +
                 "' is not a compute mode: expected default, prohibited or exclusive");
}

double parse_factor(std::string_view text) {
  std::string const copy(text);
  char* end = nullptr;
  double const factor = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0' || !(factor >= 1) || factor > 1000) {
    throw bad_part("'" + copy + "' is not a factor: expected a number from 1 to 1000");
  }
  return factor;
}

// Splits the text at the first `mark`. Throws bad_part if the text has no `mark`.
std::pair<std::string_view, std::string_view> split(std::string_view text, char mark,
                                                    char const* expected) {
  auto const at = text.find(mark);
  if (at == std::string_view::npos) {
    throw bad_part("'" + std::string(text) + "': expected " + expected);
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

// Reads "target@N:STATUS".
std::pair<std::string_view, countdown> parse_countdown(std::string_view text,
                                                       char const* expected) {
  auto const [which, status] = split(text, ':', expected);
  auto const [who, count] = split(which, '@', expected);
  auto const left = parse_number(count);
  if (!left || *left == 0) {
    throw bad_part("'" + std::string(count) + "' is not a count: expected 1 or more");
  }
  return {who, {*left, parse_status(status)}};
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
  } else {
    throw bad_part(
        "'" + std::string(kind) +
        "' is not a kind of rule: expected slow, delay, fail, fault, capacity, no_peer, mode "
        "or priorities");
  }
}

void add(rules& to, std::string_view part) {
  auto const [kind, rest] = split(part, '=', "KIND=...");
  if (kind == "slow") {
    auto const [device, factor] = split(rest, ':', "slow=DEVICE:FACTOR");
    to.slow[parse_device(device)] = parse_factor(factor);
  } else if (kind == "delay") {
    auto const [entry, text] = split(rest, ':', "delay=ENTRY:MICROSECONDS");
    auto const delay = parse_number(text);
    constexpr unsigned long long hour = 3'600'000'000;
    if (!delay || *delay > hour) {
      throw bad_part(
          "'" + std::string(text) +
          "' is not a delay: expected a whole number of microseconds from 0 to 3600000000, "
          "which is one hour");
    }
    to.delays[parse_entry(entry)] = std::chrono::microseconds(*delay);
  } else if (kind == "fail") {
    auto const [entry, made] = parse_countdown(rest, "fail=ENTRY@N:STATUS");
    to.failures.emplace(parse_entry(entry), made);
  } else if (kind == "fault") {
    auto const [device, made] = parse_countdown(rest, "fault=DEVICE@N:STATUS");
    to.faults.emplace(parse_device(device), made);
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
  // release: pairs with the acquire in armed()
  if (!spec.empty()) { detail::armed.store(true, std::memory_order_release); }
  return true;
}

void clear() {
  std::lock_guard const lock(mutex);
  active = {};
  detail::armed.store(false, std::memory_order_release);
}

CUresult before(char const* entry) noexcept {
  std::string_view const name = without_version(entry);
  std::chrono::microseconds delay{0};
  CUresult failure = CUDA_SUCCESS;
  {
    std::lock_guard const lock(mutex);
    if (auto const found = active.delays.find(name); found != active.delays.end()) {
      delay = found->second;
    }
    failure = count_down(active.failures, active.failures.equal_range(name));
  }
  if (delay.count() > 0) { std::this_thread::sleep_for(delay); }
  return failure;
}

CUresult next_kernel(int device) noexcept {
  std::lock_guard const lock(mutex);
  return count_down(active.faults, active.faults.equal_range(device));
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

}  // namespace flotilla::cpu_driver::injection

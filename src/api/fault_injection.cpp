// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Fault injection in code. Each function checks its arguments and then passes the fault to the CPU
// driver in the text form of FLOTILLA_CPU_INJECT.
#include <flotilla/testing/fault_injection.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include <flotilla/error/error.hpp>

#include "driver/cpu_devices.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace testing {

namespace {

std::string quoted(std::string_view text) { return "'" + std::string{text} + "'"; }

/// @throws invalid_argument  `entry` has a character that the text form does not allow.
void check_entry(char const* function, std::string_view entry) {
  auto const is_name = [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '_';
  };
  if (entry.empty() || !std::all_of(entry.begin(), entry.end(), is_name)) {
    throw invalid_argument(std::string{function} + ": entry is " + quoted(entry) +
                           ", but must be an entry point of the driver, such as cuLaunchKernel");
  }
}

void check_device(char const* function, cpu_device device) {
  if (device.driver_ordinal < 0) {
    throw invalid_argument(std::string{function} + ": device is " +
                           std::to_string(device.driver_ordinal) + ", but must be 0 or more");
  }
}

void check_time(char const* function, char const* name, std::chrono::microseconds time) {
  if (time < std::chrono::microseconds::zero() || time > std::chrono::hours{1}) {
    throw invalid_argument(std::string{function} + ": " + name + " is " +
                           std::to_string(time.count()) +
                           " us, but must be between 0 and one hour");
  }
}

void check_nth(char const* function, std::uint64_t nth) {
  if (nth == 0) {
    throw invalid_argument(
        std::string{function} +
        ": nth is 0, but must be at least 1 (1 means the next call, kernel or completion)");
  }
}

void check_status(char const* function, driver_status status) {
  bool const is_named = to_string(status).find('(') == std::string::npos;
  if (status == driver_status::success || !is_named) {
    throw invalid_argument(std::string{function} + ": status is " + to_string(status) +
                           ", but must be an error with a name in driver_status");
  }
}

/// @param suspect  The argument that only the CPU driver can check, in words, such as "device 5".
///                 The error message names it if the CPU driver refuses the fault.
void inject(char const* function, std::string const& suspect, std::string const& fault) {
  try {
    driver::inject(fault);
  } catch (invalid_argument const& refused) {
    throw invalid_argument(std::string{function} + ": " + suspect +
                           " is unknown to the CPU driver: " + refused.what());
  }
}

std::string text_of(cpu_device device) { return std::to_string(device.driver_ordinal); }

std::string entry_in_words(std::string_view entry) { return "entry " + quoted(entry); }
std::string device_in_words(cpu_device device) { return "device " + text_of(device); }

}  // namespace

cpu_device::cpu_device(device const& device) : driver_ordinal{device.driver_ordinal} {
  if (device.kind != device_kind::cpu) {
    throw invalid_argument("fault injection: device " + std::to_string(device.ordinal.value) +
                           " (" + device.name + ") is a GPU, but must be a CPU device");
  }
}

void fail_call(std::string_view entry, std::uint64_t nth, driver_status status) {
  check_entry("fail_call", entry);
  check_nth("fail_call", nth);
  check_status("fail_call", status);
  inject("fail_call", entry_in_words(entry),
         "fail=" + std::string{entry} + "@" + std::to_string(nth) + ":" + to_string(status));
}

void delay_calls(std::string_view entry, std::chrono::microseconds delay) {
  check_entry("delay_calls", entry);
  check_time("delay_calls", "delay", delay);
  inject("delay_calls", entry_in_words(entry),
         "delay=" + std::string{entry} + ":" + std::to_string(delay.count()));
}

void slow_kernels(cpu_device device, double factor) {
  check_device("slow_kernels", device);
  std::array<char, 32> digits{};
  auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), factor).ptr;
  std::string const text{digits.data(), end};
  if (!(factor >= 1 && factor <= 1000)) {
    throw invalid_argument("slow_kernels: factor is " + text + ", but must be between 1 and 1000");
  }
  inject("slow_kernels", device_in_words(device), "slow=" + text_of(device) + ":" + text);
}

void reverse_blocks(cpu_device device) {
  check_device("reverse_blocks", device);
  inject("reverse_blocks", device_in_words(device), "blocks=" + text_of(device) + ":reversed");
}

void fault_kernel(cpu_device device, std::uint64_t nth, driver_status status) {
  check_device("fault_kernel", device);
  check_nth("fault_kernel", nth);
  check_status("fault_kernel", status);
  inject("fault_kernel", device_in_words(device),
         "fault=" + text_of(device) + "@" + std::to_string(nth) + ":" + to_string(status));
}

void hang_kernel(cpu_device device, std::uint64_t nth) {
  check_device("hang_kernel", device);
  check_nth("hang_kernel", nth);
  inject("hang_kernel", device_in_words(device),
         "hang=" + text_of(device) + "@" + std::to_string(nth));
}

void hang_kernel(cpu_device device, std::uint64_t nth, std::chrono::microseconds time) {
  check_device("hang_kernel", device);
  check_nth("hang_kernel", nth);
  check_time("hang_kernel", "time", time);
  inject(
      "hang_kernel", device_in_words(device),
      "hang=" + text_of(device) + "@" + std::to_string(nth) + ":" + std::to_string(time.count()));
}

void release_kernels(cpu_device device) {
  check_device("release_kernels", device);
  inject("release_kernels", device_in_words(device), "release=" + text_of(device));
}

void lose_completion(cpu_device device, std::uint64_t nth) {
  check_device("lose_completion", device);
  check_nth("lose_completion", nth);
  inject("lose_completion", device_in_words(device),
         "lose=" + text_of(device) + "@" + std::to_string(nth));
}

void slow_copies(cpu_device device, std::size_t bytes_per_second) {
  check_device("slow_copies", device);
  if (bytes_per_second == 0) {
    throw invalid_argument("slow_copies: bytes_per_second is 0, but must be at least 1");
  }
  inject("slow_copies", device_in_words(device),
         "copies=" + text_of(device) + ":" + std::to_string(bytes_per_second));
}

void separate_peers(cpu_device from, cpu_device to) {
  check_device("separate_peers", from);
  check_device("separate_peers", to);
  if (from.driver_ordinal == to.driver_ordinal) {
    throw invalid_argument("separate_peers: from and to are both device " + text_of(from) +
                           ", but must be two devices");
  }
  inject("separate_peers", "one of the devices " + text_of(from) + " and " + text_of(to),
         "no_peer=" + text_of(from) + ":" + text_of(to));
}

void limit_memory(cpu_device device, std::size_t bytes) {
  check_device("limit_memory", device);
  inject("limit_memory", device_in_words(device),
         "capacity=" + text_of(device) + ":" + std::to_string(bytes));
}

void clear_faults() { driver::clear_injection(); }

}  // namespace testing
}  // namespace v0_1
}  // namespace flotilla

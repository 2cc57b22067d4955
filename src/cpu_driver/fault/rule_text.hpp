// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the parts of a fault injection rule. All functions throw bad_part.

#include <cuda.h>

#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "cpu_driver/base/entry_names.hpp"
#include "cpu_driver/base/environment.hpp"
#include "cpu_driver/base/error_names.hpp"

namespace flotilla::cpu_driver::injection {

// Counts down calls or kernels. The rule takes effect when `left` reaches 0.
struct countdown {
  unsigned long long left;
  CUresult status;
};

struct bad_part : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline int parse_device(std::string_view text) {
  auto const ordinal = parse_number(text);
  if (!ordinal || *ordinal >= max_devices) {
    throw bad_part("'" + std::string(text) + "' is not a device: expected 0 to " +
                   std::to_string(max_devices - 1));
  }
  return static_cast<int>(*ordinal);
}

inline std::string parse_entry(std::string_view text) {
  if (!is_entry(text)) {
    throw bad_part(
        "'" + std::string(text) +
        "' is not an entry point of this driver: expected a name such as cuLaunchKernel");
  }
  return std::string(text);
}

inline CUresult parse_status(std::string_view text) {
  auto const status = error_by_name(text);
  if (!status || *status == CUDA_SUCCESS) {
    throw bad_part(
        "'" + std::string(text) +
        "' is not an error: expected a name such as CUDA_ERROR_OUT_OF_MEMORY, or a number");
  }
  return *status;
}

inline CUcomputemode parse_mode(std::string_view text) {
  if (text == "default") { return CU_COMPUTEMODE_DEFAULT; }
  if (text == "prohibited") { return CU_COMPUTEMODE_PROHIBITED; }
  if (text == "exclusive") { return CU_COMPUTEMODE_EXCLUSIVE_PROCESS; }
  throw bad_part("'" + std::string(text) +
                 "' is not a compute mode: expected default, prohibited or exclusive");
}

inline double parse_factor(std::string_view text) {
  double factor = 0;
  auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (failed != std::errc{} || end != text.data() + text.size() || !(factor >= 1) ||
      factor > 1000) {
    throw bad_part("'" + std::string(text) +
                   "' is not a factor: expected a number from 1 to 1000, such as 1.5");
  }
  return factor;
}

// Splits the text at the first `mark`. Throws bad_part if the text has no `mark`.
inline std::pair<std::string_view, std::string_view> split(std::string_view text, char mark,
                                                           char const* expected) {
  auto const at = text.find(mark);
  if (at == std::string_view::npos) {
    throw bad_part("'" + std::string(text) + "': expected " + expected);
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

inline unsigned long long parse_count(std::string_view text) {
  auto const count = parse_number(text);
  if (!count || *count == 0) {
    throw bad_part("'" + std::string(text) + "' is not a count: expected 1 or more");
  }
  return *count;
}

// Reads "target@N:STATUS".
inline std::pair<std::string_view, countdown> parse_countdown(std::string_view text,
                                                              char const* expected) {
  auto const [which, status] = split(text, ':', expected);
  auto const [who, count] = split(which, '@', expected);
  return {who, {parse_count(count), parse_status(status)}};
}

// Reads a whole number of microseconds.
inline std::chrono::microseconds parse_time(std::string_view text) {
  auto const time = parse_number(text);
  constexpr unsigned long long hour = 3'600'000'000;
  if (!time || *time > hour) {
    throw bad_part("'" + std::string(text) +
                   "' is not a time: expected a whole number of microseconds from 0 to 3600000000, "
                   "which is one hour");
  }
  return std::chrono::microseconds(*time);
}

}  // namespace flotilla::cpu_driver::injection

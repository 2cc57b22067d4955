// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What tests of merged traces share.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "trace_merge.hpp"
#include "trace_reader.hpp"

namespace flotilla::test {

inline constexpr std::int64_t one_ms = 1'000'000;
inline constexpr std::int64_t one_second = 1000 * one_ms;

inline tool::trace_model merged(std::vector<tool::trace_part> parts) {
  return tool::decode_trace(tool::trace_set{std::move(parts)}.merged(), "merged");
}

inline tool::trace_slice const& named(tool::trace_model const& trace, std::string const& name) {
  for (tool::trace_slice const& each : trace.slices) {
    if (each.name == name) { return each; }
  }
  throw std::runtime_error("no slice is called " + name);
}

}  // namespace flotilla::test

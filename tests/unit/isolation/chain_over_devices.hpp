// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chain of tasks and copies that alternates between two devices.

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "support/contract_test.hpp"

namespace flotilla::test {

/// Each step multiplies a value by 3 and adds its number on one device, and copies the value to the
/// other one. Expects the right value at the end.
inline void expect_chain_over_devices(runtime& rt) {
  test_program const program{rt};
  device_word first{rt, {0}, 1}, second{rt, {1}, 1};
  ticket last;
  std::uint32_t expected = 1;
  for (std::uint32_t i = 0; i < 50; ++i) {
    dependency_list after;
    if (i != 0) { after = {last}; }
    device_word& from = i % 2 == 0 ? first : second;
    device_word& to = i % 2 == 0 ? second : first;
    ticket const step = rt.submit(program.step.with_shape({1}, {1})(from.buffer(), 3u, i),
                                  {.after = std::move(after)});
    last = rt.submit(to.buffer().copy_from(from.buffer()), {.after = {step}});
    expected = expected * 3 + i;
  }
  EXPECT_EQ(first.read({last}), expected);
}

}  // namespace flotilla::test

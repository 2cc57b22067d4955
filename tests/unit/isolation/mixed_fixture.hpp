// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A runtime with one isolated device and one device in this process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>

#include "support/contract_test.hpp"

namespace flotilla::test {

using word = std::uint32_t;

/// Which device is isolated, and how many workers the runtime has.
using arrangement_of_mixed = std::tuple<unsigned, int>;

inline runtime_options mixed_options(unsigned isolated, int workers = 2) {
  runtime_options made{.devices = device_spec(2), .workers = workers};
  made.settings.devices[isolated].isolation = isolation::process;
  return made;
}

class mixed_fixture : public ::testing::TestWithParam<arrangement_of_mixed> {
 protected:
  void SetUp() override { FLOTILLA_NEED_DEVICES(2); }
  static device_ordinal isolated() { return {std::get<0>(GetParam())}; }
  static device_ordinal here() { return {1 - std::get<0>(GetParam())}; }
  static runtime_options options() {
    return mixed_options(isolated().value, std::get<1>(GetParam()));
  }
};

}  // namespace flotilla::test

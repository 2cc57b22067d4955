// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture for figures of flotilla: a runtime, an empty kernel, and threads that submit tasks.

#include <cstdint>
#include <string>

#include <flotilla/flotilla.hpp>

#include "cached_fixture.hpp"
#include "thread_team.hpp"

namespace flotilla::bench {

class runtime_fixture final : public cached_fixture {
 public:
  struct options {
    int devices = 1;
    int workers = 1;
    int producers = 1;
    flotilla::wait_policy schedule = flotilla::wait_policy::automatic;
    std::string device_spec{};  // empty: the first `devices` devices of the machine
    bool operator==(options const&) const = default;
  };
  explicit runtime_fixture(options const& wanted);

  /// The device for a producer's i-th task. A producer uses the devices in turn, and each producer
  /// begins at a different device.
  [[nodiscard]] device_ordinal device_of(int producer, std::int64_t i) const noexcept {
    return device_ordinal{static_cast<unsigned>((producer + i) % created_with.devices)};
  }
  /// The runtime's counters, summed over all devices.
  [[nodiscard]] device_counters counters() const;

  options const created_with;
  runtime rt;
  program kernels;     // flotilla_kernels
  launch null_launch;  // the empty kernel, one block of 32 threads
  thread_team producers;
};

}  // namespace flotilla::bench

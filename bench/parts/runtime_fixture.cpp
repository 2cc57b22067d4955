// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime_fixture.hpp"

#include <flotilla_kernels.hpp>

#include "machine.hpp"

namespace flotilla::bench {

namespace {

runtime_options options_of(runtime_fixture::options const& wanted) {
  runtime_options options{
      .devices = wanted.device_spec.empty() ? first_devices(wanted.devices) : wanted.device_spec,
      .workers = wanted.workers};
  if (wanted.schedule != wait_policy::automatic) {
    options.settings.all.schedule = wanted.schedule;
  }
  return options;
}

}  // namespace

runtime_fixture::runtime_fixture(options const& wanted)
    : created_with{wanted},
      rt{options_of(wanted)},
      kernels{rt.load(flotilla_kernels)},
      null_launch{kernels.kernel<>("null_kernel").with_shape({1}, {32})()},
      producers{wanted.producers} {
  // Warm-up: each producer runs a task on each device, because the first use of a device allocates
  // memory.
  producers.run([this](int producer) {
    for (int i = 0; i < created_with.devices; ++i) {
      rt.submit(null_launch, {.device = device_of(producer, i)}).wait();
      rt.submit(null_launch).wait();
    }
  });
}

device_counters runtime_fixture::counters() const {
  device_counters sum;
  for (device const& each : rt.devices()) {
    device_counters const counters = rt.counters(each);
    sum.tasks += counters.tasks;
    sum.batches += counters.batches;
    sum.migrations += counters.migrations;
  }
  return sum;
}

}  // namespace flotilla::bench

#include "fleet.hpp"

#include <flotilla_kernels.hpp>

#include "machine.hpp"

namespace flotilla::bench {

namespace {

runtime_options options_of(fleet::shape const& wanted) {
  runtime_options made{
      .devices = wanted.where.empty() ? first_devices(wanted.devices) : wanted.where,
      .workers = wanted.workers};
  if (wanted.schedule != schedule::automatic) { made.settings.all.schedule = wanted.schedule; }
  return made;
}

}  // namespace

fleet::fleet(shape const& wanted)
    : made_as{wanted},
      rt{options_of(wanted)},
      kernels{rt.load(flotilla_kernels)},
      null{kernels.kernel<>("null_kernel").on({1}, {32})()},
      producers{wanted.producers} {
  // Each device and each producer once, untimed: first uses allocate.
  producers.run([this](int producer) {
    for (int i = 0; i < made_as.devices; ++i) {
      rt.submit(null, {.device = device_of(producer, i)}).wait();
      rt.submit(null).wait();
    }
  });
}

device_counters fleet::counters() const {
  device_counters sum;
  for (device const& each : rt.devices()) {
    device_counters const of = rt.counters(each);
    sum.tasks += of.tasks;
    sum.batches += of.batches;
    sum.migrations += of.migrations;
  }
  return sum;
}

}  // namespace flotilla::bench

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flotilla_devices.hpp"

#include <flotilla/device/peer_access.hpp>
#include <pattern_kernels.hpp>
#include <stdexcept>

#include "machine.hpp"
#include "variant.hpp"

namespace flotilla::bench {

flotilla_devices::flotilla_devices(int count, int workers)
    : rt{{.devices = first_devices(count), .workers = workers}},
      program_{rt.load(pattern_kernels)},
      on_one_{program_.kernel<pattern_argument>("pattern_task").with_shape({1}, {32})},
      on_two_{program_.kernel<pattern_argument, unsigned long long*>("pattern_task_on_two")
                  .with_shape({1}, {32})},
      values_(static_cast<std::size_t>(count)) {
  for (unsigned i = 0; count == 2 && i < 2; ++i) {
    std::string const why = why_no_peer_access(rt, device_ordinal{i}, device_ordinal{1 - i});
    if (!why.empty()) {
      throw std::runtime_error{"--devices 2 needs two devices that are peers: " + why};
    }
  }
}

void flotilla_devices::fit(task_graph const& graph) {
  distribution_ = distribution{graph, static_cast<unsigned>(values_.size())};
  for (unsigned i = 0; i < values_.size(); ++i) {
    if (values_[i].size() < graph.tasks().size()) {
      values_[i] = device_buffer<unsigned long long>{rt, device_ordinal{i}, graph.tasks().size()};
    }
  }
}

void flotilla_devices::clear() {
  for (auto& each : values_) { rt.submit(each.fill(0x0101010101010101ull * cleared_byte)).wait(); }
}

void flotilla_devices::read(std::vector<std::uint64_t>& values) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  std::vector<unsigned long long> copied(values.size());
  for (unsigned i = 0; i < values_.size(); ++i) {
    rt.submit(values_[i].subspan(0, copied.size()).copy_to(copied)).wait();
    for (std::size_t task = 0; task < values.size(); ++task) {
      if (distribution_.device(task) == i) { values[task] = copied[task]; }
    }
  }
}

launch flotilla_devices::task(task_graph const& graph, std::size_t index) {
  unsigned const device = distribution_.device(index);
  pattern_argument const argument = graph.argument(index, values_[device].data());
  if (values_.size() == 1) { return on_one_(argument); }
  return on_two_(argument, distribution_.is_mirrored(index) ? values_[1 - device].data() : nullptr);
}

}  // namespace flotilla::bench

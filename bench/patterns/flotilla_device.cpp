// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flotilla_device.hpp"

#include <pattern_kernels.hpp>
#include <span>

#include "machine.hpp"
#include "variant.hpp"

namespace flotilla::bench {

flotilla_device::flotilla_device(int workers)
    : rt{{.devices = first_devices(1), .workers = workers}},
      kernel_{
          rt.load(pattern_kernels).kernel<pattern_argument>("pattern_task").with_shape({1}, {32})} {
}

void flotilla_device::fit(task_graph const& graph) {
  if (values_.size() < graph.tasks().size()) {
    values_ = device_buffer<unsigned long long>{rt, device_ordinal{0}, graph.tasks().size()};
  }
}

void flotilla_device::clear() {
  rt.submit(values_.fill(0x0101010101010101ull * cleared_byte)).wait();
}

void flotilla_device::read(std::vector<std::uint64_t>& values) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  std::vector<unsigned long long> copied(values.size());
  rt.submit(values_.subspan(0, copied.size()).copy_to(copied)).wait();
  values.assign(copied.begin(), copied.end());
}

launch flotilla_device::task(task_graph const& graph, std::size_t index) {
  return kernel_(graph.argument(index, values_.data()));
}

}  // namespace flotilla::bench

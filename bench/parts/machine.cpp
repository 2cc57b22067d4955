// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace flotilla::bench {

context::choice const& machine() {
  static context::choice const chosen = context::choose("");
  return chosen;
}

std::string first_devices(int count) {
  context::choice const& all = machine();
  if (all.devices.front().part >= 0) {  // only the whole specification describes green contexts
    if (all.devices.size() != static_cast<std::size_t>(count)) {
      throw std::runtime_error{"FLOTILLA_DEVICES divides a device into " +
                               std::to_string(all.devices.size()) + " parts, but " +
                               std::to_string(count) + " are measured"};
    }
    return std::getenv("FLOTILLA_DEVICES");
  }
  if (all.api->kind == device_kind::cpu) { return "cpu:" + std::to_string(count); }
  std::string spec = "cuda:";
  for (int i = 0; i < count; ++i) {
    if (i != 0) { spec += ','; }
    spec += std::to_string(all.devices[static_cast<std::size_t>(i)].driver_ordinal);
  }
  return spec;
}

int workers_for(int devices) {
  int const cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, std::min(devices, cores - 1));
}

}  // namespace flotilla::bench

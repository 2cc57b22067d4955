// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Fuzzes device specifications, such as the value of FLOTILLA_DEVICES. The drivers are stand-ins
// with three GPUs and up to 64 CPU devices.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/error/error.hpp>

#include "context/description.hpp"
#include "driver/cpu_devices.hpp"
#include "driver/library.hpp"

namespace flotilla {

namespace {

constexpr int gpus = 3;
int cpus = 1;

driver::opened stand_in(device_kind kind, int devices) {
  auto api = std::make_shared<driver::table>();
  api->kind = kind;
  return {std::move(api), "a stand-in", devices};
}

[[noreturn]] void broken() { std::abort(); }

/// Checks what every choice must be.
void check(context::choice const& chosen) {
  if (chosen.devices.empty() || chosen.devices.size() != chosen.sources.size()) { broken(); }
  for (std::size_t i = 0; i < chosen.devices.size(); ++i) {
    device const& each = chosen.devices[i];
    if (each.ordinal.value != i || each.kind != chosen.api->kind) { broken(); }
    if ((each.part >= 0) != chosen.sources[i].has_value()) { broken(); }
    if (each.driver_ordinal >= (each.kind == device_kind::gpu ? gpus : cpus)) { broken(); }
    auto const is_same = [&](device const& other) {
      return other.driver_ordinal == each.driver_ordinal && other.part == each.part;
    };
    if (std::count_if(chosen.devices.begin(), chosen.devices.end(), is_same) != 1) { broken(); }
  }
}

}  // namespace

driver::opened const& driver::gpu_driver() {
  static opened const made = stand_in(device_kind::gpu, gpus);
  return made;
}

driver::opened const& driver::cpu_driver() {
  static opened const made = stand_in(device_kind::cpu, 1);
  return made;
}

void driver::ensure_cpu_devices(int count) { cpus = std::max(cpus, count); }

std::vector<device> context::describe_all(driver::table const& api, int count) {
  std::vector<device> made(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    device& each = made[static_cast<std::size_t>(i)];
    each.kind = api.kind;
    each.driver_ordinal = i;
    each.uuid = "GPU-0000000" + std::to_string(i);
    each.pci_id = "0000:0" + std::to_string(i) + ":00.0";
  }
  return made;
}

}  // namespace flotilla

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  // An empty specification means the environment variable, which is not fuzzed.
  if (size == 0) { return 0; }
  try {
    flotilla::check(flotilla::context::choose({reinterpret_cast<char const*>(bytes), size}));
  } catch (flotilla::unknown_device const&) {}
  return 0;
}

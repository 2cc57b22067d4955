// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/c/device.h>

#include <algorithm>
#include <string>

#include <flotilla/device/health.hpp>
#include <flotilla/error/error.hpp>

#include "c_api/call.hpp"
#include "c_api/objects.hpp"

namespace flotilla::c_api {

namespace {

device const& device_of(runtime const& rt, unsigned ordinal) {
  std::span<device const> const all = rt.devices();
  if (ordinal >= all.size()) {
    throw unknown_device("there is no device " + std::to_string(ordinal) + "; the runtime has " +
                         std::to_string(all.size()));
  }
  return all[ordinal];
}

flotilla_setting_outcome outcome_of(setting_outcome::kinds kind) noexcept {
  switch (kind) {
    case setting_outcome::kinds::by_default: return FLOTILLA_SETTING_BY_DEFAULT;
    case setting_outcome::kinds::granted: return FLOTILLA_SETTING_GRANTED;
    case setting_outcome::kinds::adjusted: return FLOTILLA_SETTING_ADJUSTED;
    case setting_outcome::kinds::no_effect: return FLOTILLA_SETTING_NO_EFFECT;
    case setting_outcome::kinds::refused: return FLOTILLA_SETTING_REFUSED;
  }
  return FLOTILLA_SETTING_REFUSED;
}

/// Fills in a struct of the program, but leaves its size.
template <class Struct>
void write(Struct& to, Struct values) noexcept {
  values.size = to.size;
  to = values;
}

setting_outcome find_setting(runtime const& rt, unsigned device, std::string const& name) {
  settings_report report = rt.report_settings(device_ordinal{device});
  auto const found = std::find_if(report.outcomes.begin(), report.outcomes.end(),
                                  [&](auto const& each) { return each.name == name; });
  if (found == report.outcomes.end()) {
    throw unknown_setting("there is no setting '" + name + "'");
  }
  return std::move(*found);
}

void get_setting(held_runtime& of, unsigned device, std::string const& name, flotilla_setting& to) {
  setting_outcome found = find_setting(of.rt, device, name);
  std::lock_guard const lock(of.mutex);
  // Settings do not change, so the first outcome stays, and with it its strings.
  setting_outcome const& one =
      of.settings.try_emplace({device, name}, std::move(found)).first->second;
  write(to, flotilla_setting{0, one.name.c_str(), one.requested.c_str(), one.granted.c_str(),
                             outcome_of(one.kind), one.note.c_str()});
}

}  // namespace

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_device_count(flotilla_runtime rt, unsigned* count) {
  return guarded("flotilla_device_count", [&] {
    required(count, "count") = static_cast<unsigned>(object(rt).rt.devices().size());
  });
}

flotilla_status flotilla_get_device(flotilla_runtime rt, unsigned device,
                                    flotilla_device_info* info) {
  return guarded("flotilla_get_device", [&] {
    check_size(required(info, "info"), "flotilla_device_info");
    flotilla::device const& of = device_of(object(rt).rt, device);
    bool const is_gpu = of.kind == flotilla::device_kind::gpu;
    write(*info, flotilla_device_info{0, is_gpu ? FLOTILLA_GPU : FLOTILLA_CPU, of.driver_ordinal,
                                      of.name.c_str(), of.uuid.c_str(), of.pci_id.c_str(),
                                      of.numa_node, of.multiprocessors, of.memory_bytes});
  });
}

flotilla_status flotilla_get_memory(flotilla_runtime rt, unsigned device, size_t* free_bytes,
                                    size_t* total_bytes) {
  return guarded("flotilla_get_memory", [&] {
    flotilla::memory_info const found = object(rt).rt.memory(flotilla::device_ordinal{device});
    if (free_bytes != nullptr) { *free_bytes = found.free_bytes; }
    if (total_bytes != nullptr) { *total_bytes = found.total_bytes; }
  });
}

flotilla_status flotilla_get_setting(flotilla_runtime rt, unsigned device, char const* name,
                                     flotilla_setting* setting) {
  return guarded("flotilla_get_setting", [&] {
    check_size(required(setting, "setting"), "flotilla_setting");
    get_setting(object(rt), device, text_of(name, "name"), *setting);
  });
}

flotilla_status flotilla_get_health(flotilla_runtime rt, unsigned device, flotilla_health* health) {
  return guarded("flotilla_get_health", [&] {
    flotilla_health& to = required(health, "health");
    switch (flotilla::health(object(rt).rt, flotilla::device_ordinal{device})) {
      case flotilla::device_health::ok: to = FLOTILLA_HEALTH_OK; break;
      case flotilla::device_health::stuck: to = FLOTILLA_HEALTH_STUCK; break;
      case flotilla::device_health::faulted: to = FLOTILLA_HEALTH_FAULTED; break;
      case flotilla::device_health::restarting: to = FLOTILLA_HEALTH_RESTARTING; break;
      case flotilla::device_health::quarantined: to = FLOTILLA_HEALTH_QUARANTINED; break;
      case flotilla::device_health::retired: to = FLOTILLA_HEALTH_RETIRED; break;
    }
  });
}

flotilla_status flotilla_get_counters(flotilla_runtime rt, unsigned device,
                                      flotilla_counters* counters) {
  return guarded("flotilla_get_counters", [&] {
    check_size(required(counters, "counters"), "flotilla_counters");
    flotilla::device_counters const of = object(rt).rt.counters(flotilla::device_ordinal{device});
    write(*counters, flotilla_counters{0, of.tasks, of.failed, of.batches, of.pushes, of.migrations,
                                       of.callables, of.pulled});
  });
}

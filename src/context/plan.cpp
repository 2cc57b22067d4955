// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/plan.hpp"

#include <map>
#include <string>

#include <flotilla/error/error.hpp>

#include "context/green.hpp"
#include "driver/check.hpp"

namespace flotilla::context {

namespace {

using kinds = context_source::kinds;

std::string text_of(device const& one) {
  return "device " + std::to_string(one.ordinal.value) + " (" + one.name + ")";
}

void check_range(device const& one, std::string_view name, std::size_t value, std::size_t min,
                 std::size_t max) {
  if (value >= min && value <= max) { return; }
  throw unknown_setting(text_of(one) + ": setting '" + std::string{name} + "' must be between " +
                        std::to_string(min) + " and " + std::to_string(max) + ", but is " +
                        std::to_string(value));
}

void check_settings(device const& one, device_settings const& asked) {
  if (asked.lanes) { check_range(one, "lanes", *asked.lanes, 1, max_lanes); }
  if (asked.window) { check_range(one, "window", *asked.window, min_window, max_window); }
  constexpr auto max_ms = static_cast<std::size_t>(max_restart_time.count());
  if (asked.restart_period_ms) {
    check_range(one, "restart.period_ms", *asked.restart_period_ms, 1, max_ms);
  }
  if (asked.restart_back_off_ms) {
    check_range(one, "restart.back_off_ms", *asked.restart_back_off_ms, 0, max_ms);
  }
  if (asked.user_coredump == true && asked.coredump == false) {
    throw unknown_setting(text_of(one) +
                          ": setting 'user_coredump' = true contradicts 'coredump' = false, "
                          "because user_coredump requires coredump");
  }
}

/// @throws unknown_setting  The device specification and the settings name different sources.
void merge_source(device const& one, std::optional<context_source> const& from,
                  device_settings& asked) {
  if (!from) { return; }
  if (asked.context && *asked.context != *from) {
    throw unknown_setting(text_of(one) + ": the device specification requests " + to_string(*from) +
                          ", but setting 'context' requests " + to_string(*asked.context));
  }
  asked.context = from;
}

/// @throws unknown_setting  The requests give green contexts of one GPU different values for a
///                          setting that they share.
void check_agreement(choice const& chosen, std::vector<request> const& requests,
                     std::vector<std::size_t> const& of_one_gpu) {
  std::size_t const first = of_one_gpu.front();
  for (std::size_t const other : of_one_gpu) {
    for (std::string_view const name : device_settings::names()) {
      std::string const mine = requests[first].settings.text(name);
      std::string const its = requests[other].settings.text(name);
      if (mine == its || !shared_by_green_contexts(name)) { continue; }
      auto const said = [](std::string const& text) { return text.empty() ? "not set" : text; };
      throw unknown_setting("all green contexts of a GPU share setting '" + std::string{name} +
                            "', but the values differ: " + text_of(chosen.devices[first]) + ": " +
                            said(mine) + "; " + text_of(chosen.devices[other]) + ": " + said(its));
    }
  }
}

void split_gpus(choice& chosen, std::vector<request>& requests) {
  std::map<int, std::vector<std::size_t>> gpus;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto const& from = requests[i].settings.context;
    if (from && from->kind == kinds::green) { gpus[chosen.devices[i].driver_ordinal].push_back(i); }
  }
  for (auto const& [ordinal, members] : gpus) {
    check_agreement(chosen, requests, members);
    std::vector<unsigned> counts;
    for (std::size_t const each : members) {
      counts.push_back(requests[each].settings.context->multiprocessors);
    }
    std::string const subject = text_of(chosen.devices[members.front()]);
    CUdevice gpu = 0;
    driver::check(chosen.api->device_get(&gpu, ordinal), "cuDeviceGet", subject);
    std::vector<CUdevResource> const slices =
        split_multiprocessors(*chosen.api, gpu, subject, counts);
    for (std::size_t i = 0; i < members.size(); ++i) {
      requests[members[i]].slice = slices[i];
      device& part = chosen.devices[members[i]];
      part.multiprocessors = static_cast<int>(slices[i].sm.smCount);
      part.part = static_cast<int>(i);
    }
  }
}

}  // namespace

void choose_host_node(request& asked, device const& where, base::numa_nodes const& nodes) {
  if (!asked.settings.numa_placement.value_or(true)) { return; }
  asked.no_host_node = nodes.refusal(where.numa_node);
  if (asked.no_host_node.empty()) { asked.host_node = where.numa_node; }
}

std::vector<request> plan(choice& chosen, settings const& asked, bool best_effort,
                          base::numa_nodes const& nodes) {
  for (auto const& [ordinal, unused] : asked.devices) {
    if (ordinal >= chosen.devices.size()) {
      throw unknown_setting("the settings name device " + std::to_string(ordinal) +
                            ", but the highest device number of the runtime is " +
                            std::to_string(chosen.devices.size() - 1));
    }
  }
  std::vector<request> made;
  for (std::size_t i = 0; i < chosen.devices.size(); ++i) {
    device const& one = chosen.devices[i];
    request each{asked.of(one.ordinal.value), best_effort};
    check_settings(one, each.settings);
    merge_source(one, chosen.sources[i], each.settings);
    choose_host_node(each, one, nodes);
    made.push_back(std::move(each));
  }
  split_gpus(chosen, made);
  return made;
}

}  // namespace flotilla::context

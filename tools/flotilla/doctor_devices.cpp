// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <flotilla/context/context_driver.hpp>
#include <flotilla/context/floating_context.hpp>
#include <flotilla/device/health.hpp>
#include <flotilla/device/peer_access.hpp>
#include <flotilla/runtime.hpp>

#include "finding.hpp"
#include "numa_text.hpp"

namespace tool {
namespace {

using grades = finding::grades;

bool several_numa_nodes() {
  std::error_code none;
  return std::filesystem::exists("/sys/devices/system/node/node1", none);
}

void examine_mode(findings& into, flotilla::context_driver const& driver,
                  flotilla::device const& one, std::string const& about) {
  switch (driver.compute_mode(one)) {
    case flotilla::compute_mode::any:
      into.push_back({grades::ok, about + "compute mode", "default", ""});
      break;
    case flotilla::compute_mode::exclusive_process:
      into.push_back({grades::warning, about + "compute mode", "exclusive: one process at a time",
                      "run nvidia-smi -c DEFAULT to let several processes use this device"});
      break;
    case flotilla::compute_mode::prohibited:
      into.push_back({grades::broken, about + "compute mode",
                      "prohibited: no context can be created",
                      "run nvidia-smi -c DEFAULT as administrator, or remove this device from "
                      "FLOTILLA_DEVICES"});
      break;
  }
}

/// Creates two contexts. The time of the first creation includes the start of the driver. The time
/// of the second creation is the cost of each further context.
void examine_context(findings& into, flotilla::context_driver const& driver,
                     flotilla::device const& one, std::string const& about) {
  try {
    using clock = std::chrono::steady_clock;
    clock::time_point const begun = clock::now();
    flotilla::floating_context const first{driver, one};
    clock::time_point const between = clock::now();
    std::size_t const before = first.ref().memory().free_bytes;
    clock::time_point const begun_again = clock::now();
    flotilla::floating_context const second{driver, one};
    clock::time_point const ended = clock::now();
    std::size_t const after = first.ref().memory().free_bytes;
    auto const ms = [](clock::duration took) {
      return std::chrono::duration<double, std::milli>(took).count();
    };
    char text[160];
    std::snprintf(text, sizeof text, "%.1f ms, the first %.1f ms; %.1f MiB of device memory",
                  ms(ended - begun_again), ms(between - begun),
                  static_cast<double>(before > after ? before - after : 0) / (1u << 20));
    into.push_back({grades::ok, about + "a context costs", text, ""});
    bool const little = after < (std::size_t{256} << 20);
    into.push_back({little ? grades::warning : grades::ok, about + "free memory",
                    std::to_string(before >> 20) + " MiB",
                    little ? "with two contexts, less than 256 MiB are free: nvidia-smi lists the "
                             "processes that use the rest"
                           : ""});
  } catch (std::exception const& failed) {
    into.push_back({grades::broken, about + "a context costs", failed.what(),
                    "flotilla needs a context to use this device: end the processes that "
                    "occupy the device, or remove it from FLOTILLA_DEVICES"});
  }
}

void examine_links(findings& into, flotilla::context_driver const& driver,
                   std::vector<flotilla::device> const& devices) {
  for (flotilla::device const& from : devices) {
    std::string reached, cut_off;
    for (flotilla::device const& to : devices) {
      if (from.driver_ordinal == to.driver_ordinal) { continue; }
      std::string& list = driver.can_access_peer(from, to) ? reached : cut_off;
      std::optional<int> const rank = driver.peer_rank(from, to);
      list += (list.empty() ? "" : ", ") + std::to_string(to.driver_ordinal) +
              (rank ? " (rank " + std::to_string(*rank) + ")" : "");
    }
    std::string const about = "device " + std::to_string(from.driver_ordinal) + ": peers";
    if (!cut_off.empty()) {
      into.push_back(
          {grades::warning, about, "no direct access to " + cut_off,
           "copies to these devices go through host memory: nvidia-smi topo -m shows the links"});
    }
    if (!reached.empty()) {
      into.push_back({grades::ok, about, "direct access to " + reached, ""});
    }
  }
}

/// Adds a finding for each device that has no access to the memory of another device of the
/// runtime, although the runtime tries to enable it.
void examine_peer_access(findings& into, flotilla::runtime const& runtime) {
  std::size_t pairs = 0;
  std::size_t reached = 0;
  for (flotilla::device const& from : runtime.devices()) {
    for (flotilla::device const& to : runtime.devices()) {
      if (from.ordinal == to.ordinal) { continue; }
      ++pairs;
      std::string const why = why_no_peer_access(runtime, from, to);
      if (why.empty()) {
        ++reached;
        continue;
      }
      into.push_back({grades::warning, "peer access",
                      "no access from device " + std::to_string(from.ordinal.value) +
                          " to device " + std::to_string(to.ordinal.value) + ": " + why,
                      "copies between the two devices go through host memory, and a launch cannot "
                      "use memory of both"});
    }
  }
  if (reached != 0) {
    into.push_back({grades::ok, "peer access",
                    "enabled for " + std::to_string(reached) + " of " + std::to_string(pairs) +
                        " ordered pairs of devices",
                    ""});
  }
}

}  // namespace

void examine_devices(findings& into, bool gpus) {
  flotilla::context_driver const driver =
      gpus ? flotilla::context_driver::gpus() : flotilla::context_driver::cpus();
  std::vector<flotilla::device> const devices = driver.devices();
  for (flotilla::device const& one : devices) {
    std::string const about = "device " + std::to_string(one.driver_ordinal) + ": ";
    into.push_back(
        {grades::ok, about + "name", one.name + ", " + one.uuid + ", " + one.pci_id, ""});
    examine_mode(into, driver, one, about);
    if (gpus) {
      bool const unknown = one.numa_node < 0 && several_numa_nodes();
      into.push_back(
          {unknown ? grades::warning : grades::ok, about + "NUMA node",
           one.numa_node < 0 ? "unknown" : std::to_string(one.numa_node),
           unknown ? "the machine has several NUMA nodes, but its firmware or this container hides "
                     "which one is near this device"
                   : ""});
    }
    examine_context(into, driver, one, about);
  }
  examine_links(into, driver, devices);
}

namespace {

/// Describes the health of a device, and what a runtime does about it.
std::string health_text(flotilla::device_health state) {
  using enum flotilla::device_health;
  switch (state) {
    case ok: return to_string(state);
    case restarting:
      return to_string(state) + ": the device was lost and gets another worker process";
    case quarantined:
      return to_string(state) +
             ": the device was lost more often than runtime_options::restart allows, or no worker "
             "process could be started; a runtime runs no more tasks there";
    case retired:
      return to_string(state) +
             ": the driver refused cuCtxPopCurrent, so a runtime runs no more tasks there";
    default:
      return to_string(state) +
             "; nothing in a process can stop a kernel that does not end, but "
             "runtime_options::stuck_after lets the runtime report it, and end the worker process "
             "of "
             "an isolated device";
  }
}

}  // namespace

void examine_runtime(findings& into, std::string const& specification) {
  try {
    flotilla::runtime const runtime{{.devices = specification, .workers = 0}};
    into.push_back({grades::ok, "runtime",
                    "starts on " + std::to_string(runtime.devices().size()) +
                        " devices: " + runtime.driver_text(),
                    ""});
    for (flotilla::device const& one : runtime.devices()) {
      for (std::string const& each : runtime.report_settings(one).warnings()) {
        into.push_back({grades::warning, "settings", each,
                        "request the granted value, or remove the setting"});
      }
      into.push_back({grades::ok, "NUMA node of device " + std::to_string(one.ordinal.value),
                      numa_text(runtime, one), ""});
      flotilla::device_health const state = flotilla::health(runtime, one.ordinal);
      into.push_back({state == flotilla::device_health::ok ? grades::ok : grades::broken,
                      "health of device " + std::to_string(one.ordinal.value), health_text(state),
                      ""});
    }
    examine_peer_access(into, runtime);
  } catch (std::exception const& failed) {
    into.push_back({grades::broken, "runtime", failed.what(),
                    "correct FLOTILLA_DEVICES and the settings; see also the lines above"});
  }
}

}  // namespace tool

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "devices_command.hpp"

#include <cstddef>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include <flotilla/device/driver_report.hpp>
#include <flotilla/device/peer_access.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/settings/settings.hpp>

#include "numa_text.hpp"
#include "table.hpp"

namespace tool {
namespace {

using json_value = nlohmann::ordered_json;

std::string in_gib(std::size_t bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / (1u << 30) << " GiB";
  return text.str();
}

std::string device_name(flotilla::device const& one) {
  return (one.kind == flotilla::device_kind::gpu ? "cuda:" : "cpu:") +
         std::to_string(one.driver_ordinal) + (one.part < 0 ? "" : "/" + std::to_string(one.part));
}

table devices_table(flotilla::runtime const& runtime) {
  table shown{{"#", "device", "name", "uuid", "pci id", "numa", "multiprocessors", "memory"}};
  for (flotilla::device const& one : runtime.devices()) {
    shown.add({std::to_string(one.ordinal.value), device_name(one), one.name, one.uuid, one.pci_id,
               one.numa_node < 0 ? "-" : std::to_string(one.numa_node),
               std::to_string(one.multiprocessors), in_gib(one.memory_bytes)});
  }
  return shown;
}

/// A table with a row for each device. The cells say whose memory the device can access.
table peers_table(flotilla::runtime const& runtime) {
  std::vector<std::string> heading{"from"};
  for (flotilla::device const& to : runtime.devices()) {
    heading.push_back("to device " + std::to_string(to.ordinal.value));
  }
  table shown{heading};
  for (flotilla::device const& from : runtime.devices()) {
    std::vector<std::string> row{"device " + std::to_string(from.ordinal.value)};
    for (flotilla::device const& to : runtime.devices()) {
      row.push_back(can_access_peer(runtime, from, to) ? "yes" : "no");
    }
    shown.add(row);
  }
  return shown;
}

void print_peers(std::ostream& out, flotilla::runtime const& runtime) {
  out << "\naccess to the memory of other devices\n" << peers_table(runtime);
  for (flotilla::device const& from : runtime.devices()) {
    for (flotilla::device const& to : runtime.devices()) {
      std::string const why = why_no_peer_access(runtime, from, to);
      if (why.empty()) { continue; }
      out << "no access from device " << from.ordinal.value << " to device " << to.ordinal.value
          << ": " << why << '\n';
    }
  }
}

/// A table with a row for each setting and a column for each device. A cell is "requested ->
/// granted".
table settings_table(flotilla::runtime const& runtime) {
  std::vector<std::string> heading{"setting"};
  std::vector<flotilla::settings_report> reports;
  for (flotilla::device const& one : runtime.devices()) {
    heading.push_back("device " + std::to_string(one.ordinal.value));
    reports.push_back(runtime.report_settings(one));
  }
  table shown{heading};
  for (std::size_t i = 0; i < reports.front().outcomes.size(); ++i) {
    std::vector<std::string> row{reports.front().outcomes[i].name};
    for (flotilla::settings_report const& of : reports) {
      flotilla::setting_outcome const& each = of.outcomes[i];
      row.push_back((each.requested.empty() ? "default" : each.requested) + " -> " +
                    (each.granted.empty() ? "none" : each.granted));
    }
    shown.add(row);
  }
  return shown;
}

json_value as_json(flotilla::runtime const& runtime, flotilla::device const& one) {
  json_value made{{"ordinal", one.ordinal.value},
                  {"device", device_name(one)},
                  {"name", one.name},
                  {"uuid", one.uuid},
                  {"pci_id", one.pci_id},
                  {"numa_node", one.numa_node},
                  {"multiprocessors", one.multiprocessors},
                  {"memory_bytes", one.memory_bytes}};
  if (one.part >= 0) { made["part"] = one.part; }
  made["settings"] = json_value::object();
  for (flotilla::setting_outcome const& each : runtime.report_settings(one).outcomes) {
    json_value& line = made["settings"][each.name];
    line["requested"] = each.requested.empty() ? json_value(nullptr) : json_value(each.requested);
    line["granted"] = each.granted.empty() ? json_value(nullptr) : json_value(each.granted);
    line["outcome"] = to_string(each.kind);
    if (!each.note.empty()) { line["note"] = each.note; }
  }
  return made;
}

json_value peers_as_json(flotilla::runtime const& runtime, flotilla::device const& from) {
  json_value made = json_value::array();
  for (flotilla::device const& to : runtime.devices()) {
    if (to.ordinal == from.ordinal) { continue; }
    std::string const why = why_no_peer_access(runtime, from, to);
    json_value line{{"ordinal", to.ordinal.value}, {"access", why.empty()}};
    if (!why.empty()) { line["reason"] = why; }
    made.push_back(line);
  }
  return made;
}

void print_json(std::ostream& out, flotilla::driver_report const& drivers,
                flotilla::runtime const& runtime) {
  json_value report{{"gpu_driver", drivers.gpu_text},
                    {"cpu_driver", drivers.cpu_text},
                    {"in_use", runtime.driver_text()},
                    {"devices", json_value::array()}};
  for (flotilla::device const& one : runtime.devices()) {
    report["devices"].push_back(as_json(runtime, one));
    report["devices"].back()["peers"] = peers_as_json(runtime, one);
  }
  out << report.dump(2, ' ', false, json_value::error_handler_t::replace) << '\n';
}

}  // namespace

void print_devices(std::ostream& out, std::string const& specification, bool json,
                   bool best_effort) {
  flotilla::driver_report const drivers = flotilla::describe_drivers();
  if (!json) {
    // Printed before the runtime starts: if the start fails, this output explains the reason.
    out << "GPU driver: " << drivers.gpu_text << "\nCPU driver: " << drivers.cpu_text << std::endl;
  }
  flotilla::runtime const runtime{
      {.devices = specification, .workers = 0, .best_effort = best_effort}};
  if (json) {
    print_json(out, drivers, runtime);
    return;
  }
  out << "in use: " << runtime.driver_text() << "\n\n"
      << devices_table(runtime) << "\nsettings, requested -> granted\n"
      << settings_table(runtime);
  for (flotilla::device const& one : runtime.devices()) {
    for (std::string const& each : runtime.report_settings(one).warnings()) {
      out << "warning: " << each << '\n';
    }
  }
  out << "\nNUMA nodes\n";
  for (flotilla::device const& one : runtime.devices()) {
    out << "device " << one.ordinal.value << ": " << numa_text(runtime, one) << '\n';
  }
  if (runtime.devices().size() > 1) { print_peers(out, runtime); }
}

}  // namespace tool

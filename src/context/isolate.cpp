// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/isolate.hpp"

#include <flotilla/error/error.hpp>

#include "isolation/forwarding.hpp"

namespace flotilla::context {

namespace {

std::string in_words(device const& one) {
  return "device " + std::to_string(one.ordinal.value) + " (" + one.name + ")";
}

}  // namespace

void isolate(choice& chosen, std::span<request const> requests, std::string const& worker_path) {
  std::vector<isolated::isolated_choice> devices;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    device_settings const& asked = requests[i].settings;
    if (asked.isolation.value_or(isolation::none) != isolation::process) { continue; }
    device const& one = chosen.devices[i];
    context_source const from = asked.context.value_or(context_source::owned());
    if (from.kind != context_source::kinds::owned || asked.exec_affinity) {
      throw invalid_argument(in_words(one) +
                             ": setting 'isolation' = process requires an owned context without "
                             "'exec_affinity', but the context source is " +
                             to_string(from));
    }
    bool const wants_spare = asked.spare.value_or(spare::none) == spare::warm;
    devices.push_back({one.driver_ordinal, wants_spare});
  }
  if (devices.empty()) { return; }
  // A program is loaded for all devices of a runtime at once, into one process or into workers.
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].settings.isolation.value_or(isolation::none) == isolation::process) {
      continue;
    }
    throw invalid_argument(
        in_words(chosen.devices[i]) +
        ": setting 'isolation' is none, but it is process for another device of the runtime; it "
        "must "
        "be the same for all of them. Use a second runtime for devices that are not isolated");
  }
  chosen.api = isolated::isolate(chosen.api, devices, worker_path);
  chosen.text += "; isolated devices run in " + isolated::worker_program(worker_path);
}

}  // namespace flotilla::context

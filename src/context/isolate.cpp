// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/isolate.hpp"

#include <algorithm>
#include <vector>

#include <flotilla/error/error.hpp>

#include "isolation/forwarding.hpp"

namespace flotilla::context {

namespace {

context_source source_of(request const& asked) {
  return asked.settings.context.value_or(context_source::owned());
}

/// @throws invalid_argument  The device cannot be isolated.
void check_isolated(device const& one, request const& asked) {
  if (source_of(asked).kind == context_source::kinds::owned && !asked.settings.exec_affinity) {
    return;
  }
  throw invalid_argument(device_text(one) +
                         ": setting 'isolation' = process requires an owned context without "
                         "'exec_affinity', but the context source is " +
                         to_string(source_of(asked)));
}

/// @throws invalid_argument  The device cannot be in a runtime with isolated devices.
void check_beside(device const& one, request const& asked) {
  if (source_of(asked).kind != context_source::kinds::green) { return; }
  throw invalid_argument(
      device_text(one) +
      " has a green context, but another device of the runtime is isolated. Copies to an isolated "
      "device make the context current on the thread that drives the isolated device, and a green "
      "context can be current on only one thread; use another context source, or a second runtime "
      "for the isolated devices");
}

}  // namespace

bool is_isolated(request const& asked) noexcept {
  return asked.settings.isolation.value_or(isolation::none) == isolation::process;
}

void isolate(choice& chosen, std::span<request const> requests, std::string const& worker_path) {
  std::vector<isolated::isolated_choice> devices;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!is_isolated(requests[i])) { continue; }
    check_isolated(chosen.devices[i], requests[i]);
    bool const wants_spare = requests[i].settings.spare.value_or(spare::none) == spare::warm;
    devices.push_back({chosen.devices[i].driver_ordinal, wants_spare});
  }
  if (devices.empty()) { return; }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!is_isolated(requests[i])) { check_beside(chosen.devices[i], requests[i]); }
  }
  isolated::isolated_drivers const made = isolated::isolate(chosen.api, devices, worker_path);
  chosen.api = made.forwarding;
  if (devices.size() != requests.size()) { chosen.local = made.local; }
  chosen.text += "; isolated devices run in " + isolated::worker_program(worker_path);
}

std::shared_ptr<driver::table const> const& driver_of(choice const& chosen,
                                                      request const& asked) noexcept {
  return chosen.local == nullptr || is_isolated(asked) ? chosen.api : chosen.local;
}

unsigned host_device(std::span<request const> requests) noexcept {
  auto const found = std::find_if_not(requests.begin(), requests.end(), is_isolated);
  return found != requests.end() ? static_cast<unsigned>(found - requests.begin()) : 0;
}

}  // namespace flotilla::context

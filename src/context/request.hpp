// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The request for one context.

#include <cuda.h>

#include <optional>
#include <string>

#include <flotilla/settings/settings.hpp>

namespace flotilla::context {

struct request {
  request() = default;
  // Not explicit, so that callers can pass device_settings as a request.
  request(device_settings asked, bool best = false)
      : settings(std::move(asked)), best_effort(best) {}

  device_settings settings;
  /// If true, a setting that the driver refuses is recorded and keeps the driver's value. If false,
  /// a refused setting is an error.
  bool best_effort = false;
  std::optional<CUdevResource> slice{};  // the multiprocessors of a green context (see green.hpp)
  /// The NUMA node that host memory and host threads of the device prefer; -1: none.
  int host_node = -1;
  std::string no_host_node{};  // the reason if `host_node` is -1 although it was not turned off
};

}  // namespace flotilla::context

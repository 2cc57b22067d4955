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
};

}  // namespace flotilla::context

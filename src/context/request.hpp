#pragma once
// What is asked of one context.

#include <cuda.h>

#include <optional>
#include <string>

#include <flotilla/settings.hpp>

namespace flotilla::context {

struct request {
  request() = default;
  // Not explicit: settings alone are a request.
  request(device_settings asked, bool what_can_be_had = false)
      : settings(std::move(asked)), best_effort(what_can_be_had) {}

  device_settings settings;
  bool best_effort = false;             // a refused setting is noted, and the driver's default serves
  std::optional<CUdevResource> slice{}; // of a green context: its multiprocessors (see green.hpp)
};

}  // namespace flotilla::context

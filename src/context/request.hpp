#pragma once
// The request for one context.

#include <cuda.h>

#include <optional>
#include <string>

#include <flotilla/settings/settings.hpp>

namespace flotilla::context {

struct request {
  request() = default;
  // Not explicit: settings alone are a request.
  request(device_settings asked, bool best = false)
      : settings(std::move(asked)), best_effort(best) {}

  device_settings settings;
  bool best_effort = false;  // a refused setting is recorded, and the driver's default is used
  std::optional<CUdevResource> slice{};  // the multiprocessors of a green context (see green.hpp)
};

}  // namespace flotilla::context

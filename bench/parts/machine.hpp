#pragma once
// The devices that figures are measured on: FLOTILLA_DEVICES of the environment, else `auto`.

#include <string>

#include "context/description.hpp"

namespace flotilla::bench {

/// All devices, chosen once per process. @throws no_device, unknown_device
[[nodiscard]] context::choice const& machine();

/// The first `count` devices, as runtime_options::devices takes them.
[[nodiscard]] std::string first_devices(int count);

/// The number of workers of a figure that names none, as a runtime chooses it: one per device, at
/// most one less than there are cores, at least one.
[[nodiscard]] int workers_for(int devices);

}  // namespace flotilla::bench

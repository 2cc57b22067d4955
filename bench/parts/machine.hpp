// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The devices that are measured. The environment variable FLOTILLA_DEVICES chooses the devices. Its
// default is `auto`.

#include <string>

#include "context/description.hpp"

namespace flotilla::bench {

/// The devices that are measured. The first call chooses them. @throws no_device, unknown_device
[[nodiscard]] context::choice const& machine();

/// The first `count` devices, in the format of runtime_options::devices.
[[nodiscard]] std::string first_devices(int count);

/// The number of workers that a runtime creates by default: one per device, but at most the number
/// of cores minus one, and at least one.
[[nodiscard]] int workers_for(int devices);

}  // namespace flotilla::bench

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Queries the properties of devices, and chooses the devices of a runtime.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/device/device.hpp>
#include <flotilla/settings/context_source.hpp>

#include "driver/table.hpp"

namespace flotilla::context {

/// Queries the properties of the driver's device `driver_ordinal`. @throws driver_error
[[nodiscard]] device describe(driver::table const& api, int driver_ordinal);

/// Queries the properties of the devices 0 to `count` - 1 of a driver. @throws driver_error
[[nodiscard]] std::vector<device> describe_all(driver::table const& api, int count);

/// Returns for example "device 0 (NVIDIA H200)".
[[nodiscard]] std::string device_text(device const& one);

struct choice {
  // The driver of all devices, or of the isolated ones. Accepts the contexts, streams and memory of
  // all of them.
  std::shared_ptr<driver::table const> api;
  // In the order of the specification. The `ordinal` of each device is its index in this vector.
  std::vector<device> devices;
  // The context source of each device, if the specification names one. A specification can name
  // only green contexts.
  std::vector<std::optional<context_source>> sources;
  // A description of the driver. For CPU devices, a description of the GPU driver follows.
  std::string text;
  // The driver of the devices that are not isolated, if others are; else null.
  std::shared_ptr<driver::table const> local{};
};

/// Chooses devices by a specification (see runtime_options::devices). An empty specification means
/// the value of the environment variable FLOTILLA_DEVICES, or "auto" if the variable is not set. A
/// device that is named twice is chosen once. Each part of a device becomes a device of the
/// runtime: "cuda:0/green:16*8" chooses eight devices. A device cannot be chosen both in parts and
/// as a whole. GPUs and CPU devices cannot be mixed, because a runtime uses only one driver.
/// @throws unknown_device  An entry of the specification is invalid. The message names the entry.
/// @throws no_device       The specification requests GPUs, but no GPU is usable. The message gives
///                         the reason.
[[nodiscard]] choice choose(std::string_view specification);

}  // namespace flotilla::context

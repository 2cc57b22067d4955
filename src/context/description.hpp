#pragma once
// Devices as a driver describes them, and the choice that a device specification makes of them.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/device/device.hpp>
#include <flotilla/settings/context_source.hpp>

#include "driver/table.hpp"

namespace flotilla::context {

/// Asks `api` for the properties of its device `driver_ordinal`. @throws driver_error
[[nodiscard]] device describe(driver::table const& api, int driver_ordinal);

/// All devices of a driver, numbered in its order. @throws driver_error
[[nodiscard]] std::vector<device> describe_all(driver::table const& api, int count);

struct choice {
  std::shared_ptr<driver::table const> api;
  std::vector<device> devices;  // `ordinal` is the index, in the order of the specification
  // The source of each device's context if the specification names one: green.
  std::vector<std::optional<context_source>> sources;
  std::string text;  // which driver is used, and why not the other
};

/// Chooses devices by a specification (see runtime_options::devices). An empty one is replaced by
/// the environment variable FLOTILLA_DEVICES, or else by "auto". A device that is named twice is
/// chosen once. Each part, as in "cuda:0/green:16*8", is a device of its own; a GPU cannot be
/// chosen in parts and as a whole. GPUs and CPU devices cannot be mixed, because a runtime uses one
/// driver.
/// @throws unknown_device  naming the invalid part of the specification and the available devices.
/// @throws no_device       GPUs are requested but there are none; the message says why.
[[nodiscard]] choice choose(std::string_view specification);

}  // namespace flotilla::context

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

struct choice {
  std::shared_ptr<driver::table const> api;
  std::vector<device> devices;  // in the order of the specification; `ordinal` is the index
  // The context source of each device, if the specification names one. A specification can name
  // only green contexts.
  std::vector<std::optional<context_source>> sources;
  std::string text;  // names the driver; for CPU devices also describes the GPU driver
};

/// Chooses devices by a specification (see runtime_options::devices). An empty specification means
/// the value of the environment variable FLOTILLA_DEVICES, or "auto" if the variable is not set. A
/// device that is named twice is chosen once. Each part of a device becomes a device of the
/// runtime: "cuda:0/green:16*8" chooses eight devices. A device cannot be chosen both in parts and
/// as a whole. GPUs and CPU devices cannot be mixed, because a runtime uses only one driver.
/// @throws unknown_device  A part of the specification is invalid. The message names that part.
/// @throws no_device       The specification requests GPUs but there are none. The message says
///                         why.
[[nodiscard]] choice choose(std::string_view specification);

}  // namespace flotilla::context

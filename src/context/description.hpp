#pragma once
// Devices as a driver describes them, and which of them a specification chooses.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/device.hpp>
#include <flotilla/context_source.hpp>

#include "driver/table.hpp"

namespace flotilla::context {

/// What `api` says of its device `driver_ordinal`. @throws driver_error
[[nodiscard]] device describe(driver::table const& api, int driver_ordinal);

/// All devices of a driver, numbered in its order. @throws driver_error
[[nodiscard]] std::vector<device> describe_all(driver::table const& api, int count);

struct choice {
  std::shared_ptr<driver::table const> api;
  std::vector<device> devices;  // `ordinal` counts from 0 in the order of the specification
  std::vector<std::optional<context_source>> sources;  // of each device, where the specification names it: green
  std::string text;             // which driver, and why not the other
};

/// Reads a specification as runtime_options::devices documents it; empty asks the environment's
/// FLOTILLA_DEVICES, and without that means "auto". A device named twice counts once; one named with parts,
/// "cuda:0/green:16*8", counts once a part, and cannot be had as a whole beside that. GPUs and CPU
/// devices cannot be mixed: one driver serves a runtime.
/// @throws unknown_device  naming the part and listing what there is.
/// @throws no_device       GPUs are asked for and there are none; says why.
[[nodiscard]] choice choose(std::string_view specification);

}  // namespace flotilla::context

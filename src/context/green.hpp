#pragma once
// Splits the multiprocessors of a GPU among green contexts.

#include <cuda.h>

#include <span>
#include <string>
#include <vector>

#include <flotilla/settings/settings.hpp>

#include "driver/table.hpp"

namespace flotilla::context {

/// Splits the multiprocessors of a device into disjoint slices, one for each of `counts`, in that
/// order. The driver rounds each slice up to its own group size.
/// @throws driver_error      The driver or the device does not support green contexts.
/// @throws invalid_argument  The device does not have the multiprocessors; the message says how
///                           many it has and in which groups.
[[nodiscard]] std::vector<CUdevResource> split_multiprocessors(driver::table const& api,
                                                               CUdevice device,
                                                               std::string const& subject,
                                                               std::span<unsigned const> counts);

/// Whether all green contexts of one GPU share this setting, so that their values must agree. The
/// table assumes that they share all settings of the primary context; if a driver differs, change
/// the table.
[[nodiscard]] bool shared_by_green_contexts(std::string_view setting) noexcept;

}  // namespace flotilla::context

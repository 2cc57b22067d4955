// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splits the multiprocessors of a GPU among green contexts.

#include <cuda.h>

#include <span>
#include <string>
#include <vector>

#include <flotilla/settings/settings.hpp>

#include "driver/table.hpp"

namespace flotilla::context {

/// Splits the multiprocessors of a device into disjoint slices. The result has one slice for each
/// element of `counts`, in the same order. The driver rounds the size of each slice up to a
/// multiple of the device's group size.
/// @throws driver_error      The driver or the device does not support green contexts.
/// @throws invalid_argument  The device does not have enough multiprocessors. The message gives
///                           their number and the possible sizes of a slice.
[[nodiscard]] std::vector<CUdevResource> split_multiprocessors(driver::table const& api,
                                                               CUdevice device,
                                                               std::string const& subject,
                                                               std::span<unsigned const> counts);

/// Whether all green contexts of one GPU share this setting. If so, all of them must request the
/// same value. The table in green.cpp assumes that green contexts share every setting of the
/// primary context. If a driver behaves differently, change the table.
[[nodiscard]] bool shared_by_green_contexts(std::string_view setting) noexcept;

}  // namespace flotilla::context

#pragma once
// Parts of a GPU: its multiprocessors split among green contexts.

#include <cuda.h>

#include <span>
#include <string>
#include <vector>

#include <flotilla/settings.hpp>

#include "driver/table.hpp"

namespace flotilla::context {

/// Splits the multiprocessors of a device: one slice for each of `counts`, in their order, none in two slices.
/// The driver gives a slice at least as many as asked, in groups of its own size.
/// @throws driver_error      This driver or device has no green contexts.
/// @throws invalid_argument  They cannot be had: says how many there are, and in which groups.
[[nodiscard]] std::vector<CUdevResource> split_multiprocessors(driver::table const& api, CUdevice device,
                                                               std::string const& subject,
                                                               std::span<unsigned const> counts);

/// What green contexts of one GPU share, by the names of settings: they must agree on these. That all of them
/// are the primary context's, which lies under the green ones, is today's assumption; correct it here.
[[nodiscard]] bool shared_by_green_contexts(std::string_view setting) noexcept;

}  // namespace flotilla::context

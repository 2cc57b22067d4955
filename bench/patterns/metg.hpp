// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// METG (minimum effective task granularity): the shortest kernel length at which the efficiency is
// at least 50 %.

#include <functional>
#include <optional>

namespace flotilla::bench {

inline constexpr double metg_min_us = 1;  // a GPU's clock advances in steps of up to 1 us

/// Searches for the METG by bisection, with an error of at most 10 %.
/// @param max_us      Longer kernels are not tried.
/// @param efficiency  Returns the efficiency at a kernel length in us, or empty if the time is up.
///                    The efficiency must rise with the length.
/// @return The METG in us. `metg_min_us` means this length or less, and infinity means that the
///         efficiency is too low at `max_us` too. Empty if the time was up.
[[nodiscard]] std::optional<double> find_metg(
    double max_us, std::function<std::optional<double>(double us)> const& efficiency);

}  // namespace flotilla::bench

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The same computation by one thread of the host, to check the result of the devices.

#include <cstddef>
#include <optional>

#include "field.hpp"

namespace heat {

/// Computes `steps` steps of the whole field.
[[nodiscard]] field compute_serially(field start, std::size_t steps, float alpha);

/// Returns the index of the first cell at which two fields of the same size differ, or nothing.
[[nodiscard]] std::optional<std::size_t> first_difference(field const& a, field const& b);

}  // namespace heat

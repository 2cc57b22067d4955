// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes the PTX of a twin.

#include <string>

#include "make_twins/ptx_module.hpp"

namespace flotilla::make_twins {

/// Returns the twin of `kernel`, which must be suitable (suitability.hpp), as a function of PTX.
/// flotilla/detail/kernel_twin.hpp describes the interface of a twin.
[[nodiscard]] std::string write_twin(function const& kernel);

/// Returns the ordered twin of `kernel`, for which `can_be_ordered` must be true.
/// flotilla/detail/ordered_twin.hpp describes its interface.
[[nodiscard]] std::string write_ordered_twin(function const& kernel);

}  // namespace flotilla::make_twins

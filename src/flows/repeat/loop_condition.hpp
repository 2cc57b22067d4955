// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// When flow::repeat_while ends.

#include <cstddef>
#include <functional>

#include <flotilla/detail/data_use.hpp>

namespace flotilla::flows {

/// The loop ends if `goes_on` returns false for the value on the host.
struct loop_condition {
  detail::datum_use value;
  std::function<bool(detail::placed_data const&)> const& goes_on;
  std::size_t check_every;  // iterations
};

}  // namespace flotilla::flows

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/device_choice.hpp"

#include <compare>

namespace flotilla::flows {

std::size_t device_choice::bytes_to_copy(std::span<detail::datum_use const> uses,
                                         place to) noexcept {
  std::size_t sum = 0;
  for (detail::datum_use const& use : uses) {
    bool const reads = use.mode != detail::access_mode::write && !use.what->is_token();
    if (reads && !use.what->at(to).is_valid) { sum += use.what->bytes; }
  }
  return sum;
}

device_ordinal device_choice::choose(std::span<detail::datum_use const> uses) const {
  std::span<device const> const all = runtime_.infos();
  if (all.size() == 1) { return all.front().ordinal; }
  struct cost {
    std::size_t bytes;
    std::uint64_t tasks;
    auto operator<=>(cost const&) const = default;
  };
  auto const cost_on = [&](device_ordinal on) {
    return cost{bytes_to_copy(uses, place::of(on)), submitted_[on.value]};
  };
  device_ordinal best = all.front().ordinal;
  cost lowest = cost_on(best);
  for (device const& each : all.subspan(1)) {
    cost const here = cost_on(each.ordinal);
    if (here < lowest) {
      lowest = here;
      best = each.ordinal;
    }
  }
  return best;
}

}  // namespace flotilla::flows

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a task does with its data, as a placement of the application sees it.

#include <cstddef>
#include <span>
#include <vector>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/task/placement.hpp>

#include "flows/data/datum.hpp"

namespace flotilla::flows {

/// Must not be copied, because the accesses point into the list of devices.
class access_list {
 public:
  /// The caller holds the flow's mutex.
  explicit access_list(std::span<detail::datum_use const> uses) {
    std::vector<std::size_t> ends;
    for (detail::datum_use const& use : uses) {
      detail::datum const& which = *use.what;
      for (std::size_t i = 1; i < which.replicas.size(); ++i) {
        if (which.is_valid_at(place::at(i))) { devices_.push_back(place::at(i).device()); }
      }
      ends.push_back(devices_.size());
      all_.push_back({.label = which.label,
                      .bytes = which.bytes,
                      .reads = needs_contents(use.mode),
                      .writes = use.mode != detail::access_mode::read,
                      .is_valid_on_host = which.is_valid_at(place::host()),
                      .valid_on = {}});
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      std::size_t const first = i == 0 ? 0 : ends[i - 1];
      all_[i].valid_on = std::span{devices_}.subspan(first, ends[i] - first);
    }
  }
  access_list(access_list const&) = delete;
  access_list& operator=(access_list const&) = delete;

  [[nodiscard]] std::span<data_access const> all() const noexcept { return all_; }

 private:
  std::vector<device_ordinal> devices_;
  std::vector<data_access> all_;
};

}  // namespace flotilla::flows

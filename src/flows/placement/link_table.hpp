// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long copies between the host and the devices take.

#include <cstddef>
#include <vector>

#include <flotilla/runtime.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/data/datum.hpp"

namespace flotilla::flows {

/// The measured rates of all links between the places of a runtime. Constant after construction.
class link_table {
 public:
  /// Measures each link, unless this process has measured the links of the same devices before. A
  /// runtime with one device has no choice, and needs no measurement. If a measurement is not
  /// possible now, because the caller is inside a callable, host task or continuation, or because
  /// memory is missing, the table assumes typical rates.
  link_table(runtime& owner, dispatch::runtime_state& state);

  /// Returns the time of a copy that waits for nothing.
  [[nodiscard]] double copy_ns(place from, place to, std::size_t bytes) const noexcept {
    link const& used = links_[from.index() * places_ + to.index()];
    return used.latency_ns + used.ns_per_byte * static_cast<double>(bytes);
  }

 private:
  friend class link_measurement;
  struct link {
    double latency_ns = 10'000;
    double ns_per_byte = 0.04;  // 25 GB/s
  };
  std::size_t const places_;
  std::vector<link> links_;  // by from * places_ + to
};

}  // namespace flotilla::flows

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/task/placement.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string>

#include <flotilla/error/error.hpp>
#include <flotilla/runtime.hpp>

namespace flotilla {
inline namespace v0_1 {

placement::~placement() = default;

std::optional<device_ordinal> placement::place_with_data(std::span<device const> devices,
                                                         task_options const& options,
                                                         std::span<data_access const>) {
  return place(devices, options);
}

std::optional<device_ordinal> any_device::place(std::span<device const>, task_options const&) {
  return std::nullopt;
}

std::optional<device_ordinal> round_robin::place(std::span<device const> devices,
                                                 task_options const&) {
  // Relaxed, because threads share no data except this counter.
  return device_ordinal{next_.fetch_add(1, std::memory_order_relaxed) %
                        static_cast<unsigned>(devices.size())};
}

weighted::weighted(std::vector<double> const& weights) : devices_(weights.size()) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) {
      throw invalid_argument("placement: the weight of device " + std::to_string(i) + " is " +
                             std::to_string(weights[i]) + ", but must be finite and at least 0");
    }
  }
  if (weights.empty()) {
    throw invalid_argument("placement: there are no weights; give one weight for each device");
  }
  double const all = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!(all > 0) || !std::isfinite(all)) {
    throw invalid_argument("placement: the sum of the " + std::to_string(weights.size()) +
                           " weights is " + std::to_string(all) +
                           ", but must be finite and above 0");
  }
  // For each device, `behind` says by how much its turns so far fall short of its share. The device
  // with the largest shortfall gets the next turn.
  constexpr std::size_t round = 1000;
  std::vector<double> behind(weights.size(), 0);
  while (turns_.size() < round) {
    std::transform(behind.begin(), behind.end(), weights.begin(), behind.begin(), std::plus<>{});
    auto const next = std::max_element(behind.begin(), behind.end());
    *next -= all;
    turns_.push_back(static_cast<unsigned>(next - behind.begin()));
  }
}

std::optional<device_ordinal> weighted::place(std::span<device const> devices,
                                              task_options const&) {
  if (devices.size() != devices_) {
    throw invalid_argument("placement: the number of weights is " + std::to_string(devices_) +
                           ", but the number of devices is " + std::to_string(devices.size()) +
                           "; give one weight per device");
  }
  // Relaxed, because threads share no data except this counter.
  return device_ordinal{turns_[next_.fetch_add(1, std::memory_order_relaxed) % turns_.size()]};
}

}  // namespace v0_1
}  // namespace flotilla

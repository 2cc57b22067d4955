// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "variant_set.hpp"

#include <algorithm>

#include "driver_devices.hpp"
#include "flotilla_devices.hpp"

namespace flotilla::bench {

std::vector<variant_name> const& all_variants() {
  static std::vector<variant_name> const all{
      {flotilla_variant, "submit with `after`, one thread submits"},
      {"recording", "a recording of flotilla, replayed"},
      {control_variant, "cuLaunchKernel, a stream for each point, and events"},
      {"graph", "a CUDA graph that is built and instantiated for each run"},
      {"relaunch", "the same CUDA graph, built once and relaunched"},
  };
  return all;
}

variant_set::variant_set(std::vector<std::string> const& ids, int devices, int workers) {
  auto const flotilla = [&]() -> flotilla_devices& {
    if (!flotilla_) { flotilla_ = std::make_unique<flotilla_devices>(devices, workers); }
    return *flotilla_;
  };
  auto const driver = [&]() -> driver_devices& {
    if (!driver_) { driver_ = std::make_unique<driver_devices>(devices); }
    return *driver_;
  };
  auto const make = [&](std::string const& id) -> std::unique_ptr<variant> {
    if (id == flotilla_variant) { return make_submit_variant(flotilla()); }
    if (id == "recording") { return make_recording_variant(flotilla()); }
    if (id == control_variant) { return make_stream_variant(driver()); }
    return make_graph_variant(driver(), id == "relaunch");
  };
  for (variant_name const& each : all_variants()) {
    if (std::find(ids.begin(), ids.end(), each.id) != ids.end()) {
      members_.push_back({each.id, make(each.id)});
    }
  }
}

variant_set::~variant_set() = default;

variant_set::member const* variant_set::find(std::string const& id) const noexcept {
  auto const found = std::find_if(members_.begin(), members_.end(),
                                  [&](member const& each) { return each.id == id; });
  return found == members_.end() ? nullptr : &*found;
}

}  // namespace flotilla::bench

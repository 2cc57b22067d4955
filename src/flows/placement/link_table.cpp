// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/placement/link_table.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <string>

#include <flotilla/detail/allocation.hpp>

#include "driver/check.hpp"

namespace flotilla::flows {

/// Copies a block between all places of a runtime.
class link_measurement {
 public:
  /// @throws driver_error, would_deadlock
  link_measurement(runtime& owner, dispatch::runtime_state& state) : state_(state) {
    using places = detail::allocation::places;
    blocks_.emplace_back(owner, places::pinned_host, device_ordinal{0}, large);
    for (device const& each : state.infos()) {
      blocks_.emplace_back(owner, places::device, each.ordinal, large);
    }
  }
  [[nodiscard]] std::vector<link_table::link> links() {
    std::vector<link_table::link> made;
    for (std::size_t from = 0; from < blocks_.size(); ++from) {
      for (std::size_t to = 0; to < blocks_.size(); ++to) {
        made.push_back(from == to ? link_table::link{0, 0}
                                  : measure(place::at(from), place::at(to)));
      }
    }
    // All links of a machine have about the same latency, and its measurement is not exact.
    for (link_table::link& each : made) {
      if (each.latency_ns != 0) { each.latency_ns = latency_ns_; }
    }
    return made;
  }

 private:
  static constexpr std::size_t small = 256;
  static constexpr std::size_t large = std::size_t{8} << 20;

  [[nodiscard]] link_table::link measure(place from, place to) {
    double const latency = shortest_ns(from, to, small);
    double const rest = std::max(shortest_ns(from, to, large) - latency, 1.0);
    // The dispatch of a copy costs at least so much.
    constexpr double least_ns = 5'000;
    latency_ns_ = std::max(std::min(latency_ns_, latency), least_ns);
    return {latency, rest / static_cast<double>(large - small)};
  }
  /// Returns the shortest of some copies. The first one may have to prepare the link.
  [[nodiscard]] double shortest_ns(place from, place to, std::size_t bytes) {
    double shortest = copy_ns(from, to, bytes);
    for (int i = 0; i < 2; ++i) { shortest = std::min(shortest, copy_ns(from, to, bytes)); }
    return shortest;
  }
  [[nodiscard]] double copy_ns(place from, place to, std::size_t bytes) {
    CUresult answer = CUDA_SUCCESS;
    std::chrono::duration<double, std::nano> took{};
    // The device that runs the copy of a task: that of the destination, unless this is the host.
    unsigned const on = (to.is_host() ? from : to).device().value;
    state_.operations.run(on, [&](dispatch::device_driver& driver) {
      auto const begin = std::chrono::steady_clock::now();
      answer = copy(driver, from, to, bytes);
      if (answer == CUDA_SUCCESS) { answer = finish(driver); }
      took = std::chrono::steady_clock::now() - begin;
    });
    driver::check(answer, "cuMemcpyAsync", "the measurement of a link");
    return took.count();
  }
  /// Waits for the copy. Its memory must not be freed before, so if the driver refuses to wait, it
  /// is asked again. It refuses for ever only if no work runs any more.
  [[nodiscard]] static CUresult finish(dispatch::device_driver& driver) {
    driver::table const& api = driver.context().api();
    CUstream const stream = driver.memory().stream();
    CUresult const answer = api.stream_synchronize(stream);
    bool is_open = answer != CUDA_SUCCESS;
    for (int i = 0; i < 3 && is_open; ++i) {
      is_open = api.stream_synchronize(stream) != CUDA_SUCCESS;
    }
    return answer;
  }
  [[nodiscard]] CUresult copy(dispatch::device_driver& driver, place from, place to,
                              std::size_t bytes) {
    driver::table const& api = driver.context().api();
    CUstream const stream = driver.memory().stream();  // holds no tasks
    CUdeviceptr const source = blocks_[from.index()].range().address();
    CUdeviceptr const destination = blocks_[to.index()].range().address();
    if (from.is_host() || to.is_host()) {
      return api.memcpy_async(destination, source, bytes, stream);
    }
    auto const context = [&](place of) {
      return state_.devices[of.device().value].context().handle();
    };
    return api.memcpy_peer_async(destination, context(to), source, context(from), bytes, stream);
  }

  dispatch::runtime_state& state_;
  std::vector<detail::allocation> blocks_;  // by place::index
  double latency_ns_ = std::numeric_limits<double>::max();
};

namespace {

/// Names the devices, and which of them are peers.
[[nodiscard]] std::string name_of(dispatch::runtime_state const& state) {
  std::string made;
  for (device const& to : state.infos()) {
    made += to.uuid + '/' + std::to_string(to.part);
    for (device const& from : state.infos()) {
      made += state.peers.reaches(to.ordinal.value, from.ordinal.value) ? '+' : '-';
    }
  }
  return made;
}

}  // namespace

link_table::link_table(runtime& owner, dispatch::runtime_state& state)
    : places_(state.infos().size() + 1), links_(places_ * places_) {
  // A callable has the lease of its device, and a host task may be what a callable waits for.
  if (state.infos().size() == 1 || dispatch::is_inside_user_code(state)) { return; }
  static std::mutex mutex;
  static std::map<std::string, std::vector<link>> measured;  // by name_of
  std::string const name = name_of(state);
  {
    std::lock_guard const lock{mutex};
    if (auto const found = measured.find(name); found != measured.end()) {
      links_ = found->second;
      return;
    }
  }
  try {
    links_ = link_measurement{owner, state}.links();
  } catch (std::exception const&) { return; }  // a later flow tries again
  std::lock_guard const lock{mutex};
  measured.emplace(name, links_);
}

}  // namespace flotilla::flows

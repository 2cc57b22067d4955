// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures some of the launches, and adds the results to the profiles of their kernels.

#include <bit>
#include <chrono>
#include <cstdint>

#include "dispatch/batching/kernel_profiles.hpp"
#include "dispatch/batching/kernel_timer.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/trace/tracer.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease, with the context current.
class kernel_sampler {
 public:
  struct parts {
    context::context_handle const& context;
    completion_page const& page;
    lane_set const& lanes;
    kernel_profiles& profiles;
    tracer& trace;
  };
  explicit kernel_sampler(parts const& with)
      : parts_(with),
        runs_in_turn_(with.context.where().kind == device_kind::cpu),
        timer_(with.context) {}
  void destroy() noexcept { timer_.destroy(); }

  /// Calls `launch` and returns its status. Measures the launch if the kernel is due for a
  /// measurement.
  /// @param describe  Is called with the sample after a launch that is measured, and fills in what
  ///                  is known only then.
  template <class Launch, class Describe>
  [[nodiscard]] CUresult measured(lane& lane, std::uint32_t kernel, std::uint32_t tasks,
                                  Launch const& launch, Describe const& describe);
  /// If the measured launch has ended or is overdue, adds the measurement to the kernel's profile.
  void sample();
  /// Forgets a measurement that is open, because the device was lost.
  void forget() noexcept { timer_.forget(); }
  /// Whether the device is a CPU device, which runs one kernel at a time.
  [[nodiscard]] bool runs_in_turn() const noexcept { return runs_in_turn_; }

 private:
  /// Tells a trace about a measurement.
  void note(kernel_timer::sample const& sample) const noexcept;

  parts const parts_;
  bool const runs_in_turn_;
  kernel_timer timer_;
};

template <class Launch, class Describe>
CUresult kernel_sampler::measured(lane& lane, std::uint32_t kernel, std::uint32_t tasks,
                                  Launch const& launch, Describe const& describe) {
  if (!parts_.profiles.of(kernel).count_batch(tasks) || !timer_.begin(lane.stream())) {
    return launch();
  }
  auto const begun = std::chrono::steady_clock::now();
  CUresult const answer = launch();
  if (answer != CUDA_SUCCESS) { return answer; }
  kernel_timer::sample sample{};
  sample.kernel = kernel;
  sample.tasks = tasks;
  sample.chains = static_cast<std::uint32_t>(
      std::popcount(parts_.lanes.busy_launch_lanes() |
                    ((std::uint64_t{1} << lane.index()) & lane_layout::launch_lane_set)));
  sample.lane = lane.index();
  sample.begun = begun;
  sample.launching = std::chrono::steady_clock::now() - begun;
  describe(sample);
  timer_.end(lane.stream(), sample);
  return answer;
}

}  // namespace flotilla::dispatch

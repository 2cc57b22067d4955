// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The heat equation as tasks of a flow.

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "../team/team.hpp"
#include "bands.hpp"
#include "field.hpp"
#include "heat_kernels.hpp"

namespace heat {

/// The field in bands on all devices, and the tasks that compute the next step.
///
/// Each band has its data twice: a step reads one of them and writes the other. The first and the
/// last row of a band exist once more, as data of their own. The neighbours read only these edges,
/// so only single rows move between devices.
///
/// Over several ranks, each rank owns the data of its bands, so a step of a band runs there.
class simulation {
 public:
  /// @param alpha     See `relax`.
  /// @param repeated  The steps of an iteration of flow::repeat, an even number; 0: no iterations.
  simulation(samples::team const& team, flotilla::flow& flow, std::vector<band> const& bands,
             float alpha, std::size_t repeated);

  /// Copies a field to the devices, and waits until it is there.
  /// @param from  Has the size that the bands were made for. Must exist until the runtime ends: if
  ///              this function throws, host tasks may still read it.
  void start(field const& from);
  /// Submits the tasks of `steps` steps.
  void advance(std::size_t steps);
  /// Waits for all tasks.
  void wait() { team_.wait_idle(); }
  /// Throws the error of a step of this rank that has failed.
  void check();
  /// Waits for all steps, and copies the temperatures to `to` on rank 0.
  void copy_to(field& to);

 private:
  /// The data of a band before or after a step.
  struct band_state {
    flotilla::data<float, 2> rows;
    flotilla::data<float> first, last;  // the edges: copies of the first and the last row
  };
  struct part {
    band where;
    int priority;
    std::array<band_state, 2> states;
  };
  using step_kernel =
      decltype(std::declval<flotilla::program const&>().kernel(heat_kernels_image::heat_step));

  static band_state make_state(flotilla::flow& flow, band const& of);
  [[nodiscard]] bool is_here(part const& of) const { return of.where.home.rank == team_.rank(); }
  /// Submits the tasks of one step.
  void step();
  void submit(std::size_t band_index);

  samples::team const team_;
  flotilla::flow& flow_;
  step_kernel kernel_;
  float const alpha_;
  std::size_t const repeated_;
  std::vector<std::size_t> const order_;  // of the bands in a step
  std::vector<part> parts_;
  unsigned now_ = 0;  // the index of the states that the next step reads
};

}  // namespace heat

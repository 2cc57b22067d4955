// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The same steps with the same kernel, as a program without flotilla would run them.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "bands.hpp"
#include "field.hpp"

namespace heat {

/// A control: each band has a stream and an event. In each step, the stream of a band waits for the
/// events of its neighbours, runs the kernel, and copies edges to neighbours on other devices.
class by_hand {
 public:
  /// Copies the field to the devices.
  /// @param devices  The devices of the bands.
  /// @throws std::runtime_error  There is no driver, or a call of the driver failed.
  by_hand(std::vector<flotilla::device> const& devices, field const& start,
          std::vector<band> const& bands, float alpha);
  ~by_hand();

  /// Runs `steps` steps, and waits for them.
  void run(std::size_t steps);
  void copy_to(field& to);

 private:
  class device_context;
  class band_memory;

  explicit by_hand(float alpha);

  void wait_for_neighbours(std::size_t index);
  void step(std::size_t index);
  void send_edges(std::size_t index);

  float alpha_;
  CUlibrary library_ = nullptr;
  std::vector<std::unique_ptr<device_context>> contexts_;
  std::vector<std::unique_ptr<band_memory>> bands_;
  std::vector<std::size_t> order_;  // of the bands in a step
  unsigned now_ = 0;                // the index of the memory that the next step reads
};

}  // namespace heat

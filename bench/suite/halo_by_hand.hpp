// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A control: the Jacobi method on two devices with streams, events and cuMemcpyPeerAsync.

#include <cuda.h>

#include <array>
#include <vector>

#include "halo_field.hpp"
#include "plain_driver.hpp"

namespace flotilla::bench {

/// Each device has one stream. In each step the stream waits for the other device's copy of the
/// step before, runs the kernel, copies a row to the other device, and records an event. The
/// contexts have access to each other's memory.
class halo_by_hand {
 public:
  /// @throws not_available  The devices cannot access each other's memory.
  explicit halo_by_hand(halo_field const& field);
  ~halo_by_hand();
  halo_by_hand(halo_by_hand const&) = delete;
  halo_by_hand& operator=(halo_by_hand const&) = delete;

  /// Runs `steps` steps, which must be even, and waits for their end.
  void run(int steps);
  /// Checks the fields after `steps` steps. @throws std::runtime_error
  void verify(int steps) const;

 private:
  struct part {
    plain_driver::launch_target target;
    CUfunction kernel = nullptr;
    std::array<CUdeviceptr, 2> fields{};  // a step reads one of them and writes the other
  };
  void create(unsigned device);
  void step(unsigned device, unsigned from);
  [[nodiscard]] std::vector<float> read(unsigned device) const;

  halo_field const field_;
  plain_driver& plain_;
  CUlibrary library_ = nullptr;
  std::array<part, 2> parts_;
};

}  // namespace flotilla::bench

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A control (something that flotilla is compared with). It calls the driver directly, through the
// function table that flotilla also uses. A producer is a thread that launches. It pushes the
// context of a device and launches the empty kernel into a stream that only this producer uses.

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include <flotilla/settings/settings.hpp>

#include "cached_fixture.hpp"
#include "context/context_handle.hpp"
#include "thread_team.hpp"

namespace flotilla::bench {

class plain_driver final : public cached_fixture {
 public:
  struct options {
    int devices = 1;
    int producers = 1;
    flotilla::wait_policy schedule = flotilla::wait_policy::automatic;
    bool operator==(options const&) const = default;
  };
  explicit plain_driver(options const& wanted);
  ~plain_driver() override;

  /// A stream of one producer on one device.
  struct launch_target {
    CUcontext context = nullptr;
    CUfunction null = nullptr;
    CUfunction spin = nullptr;
    CUstream stream = nullptr;
    CUevent event = nullptr;
  };
  /// The targets of `producer`. If there are at least as many producers as devices, each producer
  /// has one target, and the targets are spread evenly over the devices. Otherwise a producer has
  /// several targets, so that every device is used.
  [[nodiscard]] std::vector<launch_target> const& targets(int producer) const {
    return targets_[static_cast<std::size_t>(producer)];
  }

  void push(launch_target const& target) const;
  void pop() const;

  // For the functions below, the target's context must be current.
  void launch(launch_target const& target) const;
  /// Launches a kernel with `blocks` blocks of `threads` threads. Each thread is busy for
  /// `nanoseconds`.
  void spin(launch_target const& target, unsigned blocks, unsigned threads,
            unsigned long long nanoseconds) const;
  void record(launch_target const& target) const;
  void synchronize(launch_target const& target) const;

  /// Launches `tasks` empty kernels on the producer's targets in a simple loop. Does not wait.
  void launch_all(int producer, std::int64_t tasks) const;
  /// Waits until all targets of the producer are idle.
  void synchronize_all(int producer) const;

  [[nodiscard]] driver::table const& api() const noexcept { return *api_; }

  options const created_with;

 private:
  void create_targets();

  std::shared_ptr<driver::table const> api_;
  std::vector<std::unique_ptr<context::context_handle>> contexts_;
  CUlibrary library_ = nullptr;
  std::vector<std::vector<launch_target>> targets_;

 public:
  thread_team producers;  // declared last, because its threads use the members above
};

}  // namespace flotilla::bench

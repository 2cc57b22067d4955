// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A control (something that flotilla is compared with): oneTBB without flotilla. In the benchmarks,
// only tbb_control.cpp calls oneTBB.

#include <cstdint>
#include <memory>

#include "cached_fixture.hpp"
#include "thread_team.hpp"

namespace flotilla::bench {

class tbb_control final : public cached_fixture {
 public:
  struct options {
    int producers = 1;
    int workers = 1;  // number of workers in the arena
    bool operator==(options const&) const = default;
  };
  explicit tbb_control(options const& wanted);
  ~tbb_control() override;

  /// Starts `tasks` empty bodies in the producer's task_group. Must be called on the producer's
  /// thread.
  void run_in_group(int producer, std::int64_t tasks);
  /// Waits for the bodies in the producer's task_group. The calling thread helps to run them.
  void wait_for_group(int producer);

  /// Enqueues `tasks` bodies into the arena. Each body only increments a counter. Thread-safe.
  void enqueue(std::int64_t tasks);
  /// Waits for all enqueued bodies. The calling thread cannot help to run them, because only
  /// oneTBB's workers can enter the arena.
  void wait_for_enqueued() const;

  options const created_with;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;

 public:
  thread_team producers;  // declared last, because its threads use the members above
};

}  // namespace flotilla::bench

#pragma once
// The control: oneTBB without flotilla. Its calls stand in tbb_control.cpp alone.

#include <cstdint>
#include <memory>

#include "crew.hpp"
#include "rig.hpp"

namespace flotilla::bench {

class tbb_control final : public rig {
 public:
  struct shape {
    int producers = 1;
    int workers = 1;  // of the arena that is enqueued to
    bool operator==(shape const&) const = default;
  };
  explicit tbb_control(shape const& wanted);
  ~tbb_control() override;

  /// Starts `tasks` empty bodies in a task_group of the producer's own. To be called on its thread.
  void run_in_group(int producer, std::int64_t tasks);
  /// Helps to run them, until all have.
  void wait_for_group(int producer);

  /// Hands `tasks` bodies that do nothing but count themselves to the arena, from any thread.
  void enqueue(std::int64_t tasks);
  /// Waits until all that were handed over have run. Does not help: the arena has no place for
  /// callers.
  void wait_for_enqueued() const;

  shape const made_as;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;

 public:
  crew producers;  // last: its threads use the above
};

}  // namespace flotilla::bench

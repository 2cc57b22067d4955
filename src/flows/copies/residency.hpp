// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gives the data of a task memory and contents at the place of the task.

#include <cstddef>
#include <span>
#include <vector>

#include <flotilla/data/flow_options.hpp>
#include <flotilla/detail/data_use.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/copies/data_mover.hpp"
#include "flows/copies/evictor.hpp"
#include "flows/data/datum.hpp"
#include "flows/data/obstacle.hpp"
#include "flows/memory/place_memory.hpp"

namespace flotilla::flows {

/// Threads: the caller holds the flow's mutex in all calls. No call waits.
class residency {
 public:
  residency(dispatch::runtime_state& runtime, flow_options const& options, data_mover& mover);

  /// Gives every use of a task memory at `where`, and submits the copies that make the contents
  /// valid there.
  /// @param priority  The priority of the copies.
  /// @param copies    Is increased by the number of copies that were submitted.
  [[nodiscard]] obstacle prepare(std::span<detail::datum_use const> uses, place where, int priority,
                                 std::size_t& copies);
  /// Takes the memory of a replica. Tasks may still use it.
  void release(detail::datum& which, place where) noexcept;
  /// The same, but no other data get the memory: it is freed behind all tasks that are open now.
  void discard(detail::datum& which, place where) noexcept;

  [[nodiscard]] place_memory& memory(place of) noexcept { return memories_[of.index()]; }
  [[nodiscard]] place_memory const& memory(place of) const noexcept {
    return memories_[of.index()];
  }
  [[nodiscard]] eviction_counts const& evictions(place of) const noexcept {
    return evictor_.counts(of);
  }

 private:
  /// Does what `prepare` does if something is missing.
  [[nodiscard]] obstacle bring(std::span<detail::datum_use const> uses, place where, int priority,
                               std::size_t& copies);
  /// Gives a replica memory, which may have to be taken from other data.
  [[nodiscard]] obstacle get_memory(detail::datum& which, place where,
                                    std::span<detail::datum_use const> uses);
  /// Shortens the lists of users if a task with these uses could not name all of them.
  [[nodiscard]] obstacle limit_users(std::span<detail::datum_use const> uses, place where);

  data_mover& mover_;
  std::vector<place_memory> memories_;  // by place::index
  evictor evictor_;
};

}  // namespace flotilla::flows

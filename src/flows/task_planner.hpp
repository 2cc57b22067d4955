// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides what must happen before a task of a flow can run, and records what it does.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <flotilla/detail/data_use.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/block_cache.hpp"
#include "flows/datum.hpp"
#include "flows/writer_table.hpp"

namespace flotilla::flows {

/// Why a task cannot be submitted yet. The flow does what is missing without holding its mutex, and
/// then tries again.
struct obstacle {
  enum class kinds {
    none,
    no_memory,    // `whose` needs memory at `where`
    window_full,  // the window of `where` has no free place
  } kind = kinds::none;
  place where = place::host();
  detail::datum* whose = nullptr;
};

/// Threads: the caller holds the flow's mutex in all calls. No call waits, and none runs user code.
class task_planner {
 public:
  explicit task_planner(dispatch::runtime_state& runtime);

  /// Gives every use of the task memory at `where`, and submits the copies that make the contents
  /// valid there.
  /// @param priority  The priority of the copies.
  [[nodiscard]] obstacle prepare(std::span<detail::datum_use const> uses, place where,
                                 int priority);
  /// Adds the predecessors of the task to the options, and allocates everything that `commit`
  /// needs.
  void plan(std::span<detail::datum_use const> uses, place where, task_options& options);
  /// Records that the task was submitted after `plan`. Does not throw.
  void commit(std::span<detail::datum_use const> uses, place where, task_id task) noexcept;
  /// Makes the application the last writer of the copy on the host. No task may use this copy.
  void commit_host_update(detail::datum& which) noexcept;
  /// Takes the memory of data that are gone. Tasks may still use it.
  void retire(detail::datum& which);

  [[nodiscard]] block_cache& cache(place of) noexcept { return caches_[of.index()]; }
  [[nodiscard]] bool has_ended(task_id const& task) const noexcept {
    return runtime_.query.has_ended(task);
  }

 private:
  [[nodiscard]] obstacle make_valid(detail::datum& which, place where, int priority);
  /// Returns the best place to copy from. At least one copy must be valid.
  [[nodiscard]] place source_for(detail::datum& which, place to) const noexcept;
  [[nodiscard]] memory_op describe_copy(detail::datum& which, place from, place to) const;
  /// Adds the tasks after which the memory of `which` may be overwritten.
  void add_users(replica const& which, dependency_list& after_end) const;
  void add_writer(replica const& which, dependency_list& list) const;
  /// Returns whether the task has ended, so that it need not be a predecessor. The device would
  /// find out the same, but a shorter list is cheaper. If the runtime checks the order of tasks, it
  /// must know all predecessors.
  [[nodiscard]] bool is_needless(task_id const& task) const noexcept {
    return runtime_.checks == nullptr && has_ended(task);
  }
  /// Makes room for one more user.
  void reserve_user(replica& which) const;
  void set_writer(replica& which, writer* by) noexcept;
  void mark_written(detail::datum& which, place where, writer* by) noexcept;
  [[nodiscard]] dispatch::runtime_parts const& parts() const noexcept {
    return runtime_.waits.with().shared;
  }

  dispatch::runtime_state& runtime_;
  std::vector<block_cache> caches_;  // by place::index
  writer_table writers_;
  writer* planned_ = nullptr;  // the writer of the task that is planned or will be planned next
};

}  // namespace flotilla::flows

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies data to the place where they are needed.

#include <cstdint>
#include <vector>

#include <flotilla/memory/memory_op.hpp>
#include <flotilla/task/dependency_list.hpp>
#include <flotilla/task/host_task.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/data/datum.hpp"
#include "flows/data/obstacle.hpp"
#include "flows/data/writer_table.hpp"
#include "flows/log/task_log.hpp"

namespace flotilla::flows {

/// What a flow has copied to and from one device.
struct copied_bytes {
  std::uint64_t from_host = 0;
  std::uint64_t from_devices = 0;
  std::uint64_t to_host = 0;
};

/// Submits copies of data, and knows which tasks must end before a copy of data can be read or
/// overwritten. Threads: the caller holds the flow's mutex.
class data_mover {
 public:
  /// @param log  Gets each copy.
  data_mover(dispatch::runtime_state& runtime, task_log& log);

  /// Submits a copy that makes the contents valid at a place, unless they are. The replica there
  /// must have memory, and another one must be valid.
  [[nodiscard]] obstacle make_valid(detail::datum& which, place where, int priority);
  /// Returns the best place to copy from. At least one copy must be valid.
  [[nodiscard]] place source_for(detail::datum& which, place to) const noexcept;
  /// Submits a host task that does nothing, and makes it the writer of a replica.
  /// @param options  The predecessors of the task.
  [[nodiscard]] obstacle mark(detail::datum& which, place where,
                              dispatch::flow_task_options& options);
  /// Submits a host task that does nothing. @return whether the window had a free place.
  /// @param options  task_options, or flow_task_options if the task becomes a writer.
  template <class Options>
  [[nodiscard]] bool submit_nothing(Options const& options, ticket& made) {
    auto nothing = detail::host_access::function_of([] {});
    return runtime_.host.submit(nothing, options, dispatch::when_full::give_up, &made);
  }
  /// Shortens a list of the users of memory: removes tasks that have ended or occur twice, and
  /// replaces many tasks by host tasks that run after them.
  /// @param which  The data, for their label.
  [[nodiscard]] obstacle shorten(std::vector<task_id>& users, detail::datum const& which);

  /// If a task must name more users than this, the lists of its data must be shortened: a task can
  /// have 65535 predecessors. While tasks that have ended are named too, the list of readers grows
  /// until the data are written. The number is high because an iteration of flow::repeat in which a
  /// list was shortened cannot be replayed.
  static constexpr std::size_t many_users = 32768;
  /// Shortens both lists of users of a copy.
  [[nodiscard]] obstacle shorten_users(detail::datum& which, place where);

  /// Adds the tasks after which the memory of `which` may be overwritten, except its writer.
  /// @return whether one of them implies the writer: a user runs after the writer, and does not end
  ///         before the writer has ended, even if it fails or is cancelled (late_ends).
  bool add_users(replica const& which, dependency_list& after_end) const;
  /// Adds the tasks after which the memory may be overwritten. Their failure does not matter.
  void add_all(replica const& which, dependency_list& after_end) const {
    if (!add_users(which, after_end)) { add_writer(which, after_end); }
  }
  /// Adds the tasks that have written the contents of `which`.
  void add_writer(replica const& which, dependency_list& list) const;
  /// Adds `filled`, which comes before all tasks that commute.
  void add_filled(replica const& which, dependency_list& list) const {
    add_writer(which.filled, list);
  }
  /// Makes room for one more user.
  void reserve_user(replica& which) const;
  /// Replaces the writers of the contents. @param by  Null: nothing to wait for.
  void set_writer(replica& which, writer* by) noexcept;
  /// Adds a writer that commutes with the last ones. `commuting` must have room.
  void add_commuting(replica& which, writer& by) noexcept {
    ++by.owners;
    which.commuting.push_back(&by);
  }
  /// Makes the replica have one writer at most.
  [[nodiscard]] obstacle join_commuting(detail::datum& which, place where);
  /// Removes the contents of a replica, and returns its memory. Tasks may still use the memory.
  [[nodiscard]] block take_memory(replica& which);

  /// Returns whether the order of tasks is checked or logged. Then all predecessors of a task must
  /// be known when it is submitted.
  [[nodiscard]] bool needs_all_predecessors() const noexcept {
    return runtime_.checks != nullptr || log_.needs_all_predecessors();
  }
  [[nodiscard]] writer_table& writers() noexcept { return writers_; }
  /// Records that a task copies the newest version to a replica.
  void note_copied(replica& to, writer& by) noexcept;
  /// Counts bytes that were copied.
  void count(place from, place to, std::size_t bytes) noexcept;
  [[nodiscard]] copied_bytes const& copied(place of) const noexcept { return copied_[of.index()]; }

 private:
  [[nodiscard]] detail::memory_command describe_copy(detail::datum& which, place from,
                                                     place to) const;
  /// Returns whether the task has ended, so that it need not be a predecessor. The device would
  /// find out the same, but a shorter list is cheaper.
  [[nodiscard]] bool is_needless(task_id const& task) const noexcept {
    return !needs_all_predecessors() && runtime_.query.has_ended(task);
  }

  void add_writer(writer const* by, dependency_list& list) const;

  dispatch::runtime_state& runtime_;
  dispatch::runtime_parts const& shared_;
  task_log& log_;
  writer_table writers_;
  std::vector<copied_bytes> copied_;  // by place::index
};

}  // namespace flotilla::flows

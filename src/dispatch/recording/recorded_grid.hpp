// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The records of a grid in a recorded graph.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <flotilla/detail/kernel_twin.hpp>
#include <flotilla/kernel/launch_shape.hpp>

#include "dispatch/lane/completion_page.hpp"
#include "dispatch/lane/registered_slabs.hpp"
#include "dispatch/recording/change_list.hpp"

namespace flotilla::dispatch {

/// Keeps the records from which the blocks of one grid read their tasks
/// (flotilla/detail/kernel_twin.hpp). Changes are made in groups: `open`, then `put` for each
/// changed task, then `close`.
///
/// Replays in flight read their records in place, so their records must not change. If such a
/// replay reads the newest records, `open` takes another copy of them, and the changes go into that
/// copy. A copy can be used again when the last replay that read it has ended. So in a steady state
/// nothing is allocated, and if no replay is in flight, changes are made in place.
///
/// Threads: only the holder of the device's lease. If a function needs more memory, the context
/// must be current.
class recorded_grid {
 public:
  /// What all launches of a grid have in common.
  struct form {
    std::uint32_t kernel = 0;
    std::uint32_t shared_bytes = 0;
    extent block{};

    [[nodiscard]] static form of(change_list::change const& launch) noexcept {
      return {launch.kernel, launch.shared_bytes, launch.block};
    }
    bool operator==(form const&) const = default;
  };
  /// A launch of a graph: it ends when `lane` has reached `number`.
  struct launch_mark {
    unsigned lane = 0;
    std::uint64_t number = 0;
  };
  struct config {
    registered_slabs& memory;
    completion_page const& page;
    form what;
    std::uint32_t tasks;           // number of tasks
    std::uint32_t argument_bytes;  // of the kernel
  };
  explicit recorded_grid(config const& with);

  /// Returns the bytes that the records of `tasks` tasks need.
  /// @param table_blocks  The number of blocks in the table, which is needed if the tasks have
  /// different numbers of blocks.
  [[nodiscard]] static std::size_t bytes_for(std::uint32_t tasks, std::uint32_t argument_bytes,
                                             std::uint64_t table_blocks) noexcept;

  /// Gives the first copy, which must be all zeros and which the caller keeps. Call it before all
  /// other functions, then `put` all tasks, then `close`.
  void begin(registered_slabs::piece const& first);
  /// Tells that the memory `distance` bytes behind the first copy has the same contents. Until the
  /// next change, launches use this memory. Has no effect if the first copy may have changed.
  /// @return whether the node must be changed.
  bool use_device_copy(CUdeviceptr distance) noexcept;

  [[nodiscard]] form const& what() const noexcept { return form_; }
  [[nodiscard]] std::uint32_t tasks() const noexcept { return tasks_; }

  /// Begins changes. @throws driver_error, std::bad_alloc
  /// @param last  The last launch of the graph.
  /// @param is_first_read  Whether the first copy may still be being copied to the device. Then the
  /// first copy is not changed, now or later.
  void open(launch_mark last, bool is_first_read = false);
  [[nodiscard]] bool is_open() const noexcept { return open_; }
  /// Changes the task at the index `i` of the grid. The launch must have the grid's form, and a
  /// valid grid.
  void put(std::uint32_t i, change_list::change const& launch, std::byte const* arguments);
  /// Ends changes: computes the places of the blocks again if a task has more or fewer blocks than
  /// before. @throws driver_error, std::bad_alloc
  /// @return false if the grid has more blocks than node_plan::max_blocks. Then no launch may use
  /// the grid.
  [[nodiscard]] bool close();
  /// Tells that a launch of the graph uses the changes.
  void launched() noexcept { open_ = false; }

  /// What the node of the grid must hold.
  struct contents {
    detail::twin_parameters parameters{};
    std::uint32_t blocks = 0;
  };
  [[nodiscard]] contents wanted() const noexcept;
  /// Returns whether the node must be changed before the next launch.
  [[nodiscard]] bool must_rewrite() const noexcept;
  /// Tells that the node holds what is wanted.
  void set_rewritten() noexcept { held_ = wanted(); }

  /// Puts the task at the index `i` of the grid into a list, as the task `task`.
  void copy_to(change_list& into, std::uint32_t task, std::uint32_t i) const;
  /// Gives the memory back, except the first copy. No launch may be in flight.
  void give_back() noexcept;

 private:
  struct copy {
    registered_slabs::piece memory{};
    launch_mark last{};      // the last launch that reads this copy
    std::uint64_t seen = 0;  // the number of changes that this copy contains
    bool owned = true;       // whether the memory must be given back
  };
  [[nodiscard]] bool has_ended(launch_mark launch) const noexcept {
    return page_->number(launch.lane) >= launch.number;
  }
  [[nodiscard]] std::byte* record(copy const& of, std::uint32_t i) const noexcept {
    return of.memory.host + std::size_t{i} * stride_;
  }
  [[nodiscard]] detail::twin_record head_of(copy const& of, std::uint32_t i) const noexcept {
    detail::twin_record made;
    std::memcpy(&made, record(of, i), sizeof made);
    return made;
  }
  /// The number of blocks in the table of the newest copy.
  [[nodiscard]] std::uint64_t table_blocks() const noexcept { return each_ == 0 ? blocks_ : 0; }
  void choose(launch_mark last);
  void catch_up(copy& target) noexcept;
  void replace_memory(copy& of, registered_slabs::piece const& larger) noexcept;
  void enlarge_newest(std::size_t bytes);
  void place_blocks() noexcept;

  registered_slabs* memory_;
  completion_page const* page_;
  form form_;
  std::uint32_t tasks_;
  std::uint32_t argument_bytes_;
  std::uint32_t stride_;
  std::uint64_t blocks_ = 0;  // of all tasks
  std::uint32_t each_ = 0;    // the number of blocks of every task; 0: they differ
  bool moved_ = false;        // whether the number of blocks of a task has changed
  bool open_ = false;         // whether no launch reads the newest copy, so that it may change
  bool was_changed_ = false;  // whether `open` was called
  CUdeviceptr device_copy_ = 0;
  contents held_{};
  std::vector<copy> copies_;
  std::size_t newest_ = 0;
  // The last changes, as a ring: the change number n is the task changed_[n % tasks_]. A copy that
  // lacks more than tasks_ changes is copied as a whole.
  std::vector<std::uint32_t> changed_;
  std::uint64_t changes_;  // begins so high that a copy with `seen` = 0 is copied as a whole
};

}  // namespace flotilla::dispatch

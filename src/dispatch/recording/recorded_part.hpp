// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recorded tasks of one device. Each replay launches them together, as one graph.

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/grid/grid_limits.hpp"
#include "dispatch/recording/change_list.hpp"
#include "dispatch/recording/recorded_graph.hpp"
#include "dispatch/recording/recording_plan.hpp"
#include "dispatch/recording/replay_group.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease, with the context current, except for the section
/// "any thread".
class recorded_part {
 public:
  struct build_args {
    planned_part const& plan;
    change_list const& actions;  // of all tasks of the recording, by task
    kernel_table const& kernels;
    grid_limits const& limits;  // `limits`, `memory` and `page` must outlive the part
    CUdeviceptr counter;
    builtin_functions builtins;
    registered_slabs& memory;
    completion_page const& page;
    CUstream memory_stream;  // a stream that holds no tasks, and that must outlive the part
    // Returns the estimated duration of a kernel in ns, or 0 if it is not known. If the function is
    // empty, no duration is known.
    std::function<float(std::uint32_t kernel)> kernel_ns{};
    std::shared_ptr<replay_group> group{};  // null: the part waits for no other part
    std::uint32_t number_in_group = 0;
  };
  /// @throws driver_error  The error names the refused task and its kernel if the driver tells
  /// which node it refused.
  recorded_part(context::context_handle const& context, build_args const& args);
  /// Makes no driver call. If `destroy` was not called, the driver's objects end with their
  /// context.
  ~recorded_part() = default;
  recorded_part(recorded_part const&) = delete;
  recorded_part& operator=(recorded_part const&) = delete;
  void destroy() noexcept;

  struct refusal {
    driver::call_outcome why{};
    std::uint32_t kernel = 0;    // the kernel of the refused change; no_kernel for a copy or fill
    std::exception_ptr error{};  // if not null, more precise than `why`
  };
  /// Changes the tasks for the next `enqueue`. Makes the deferred changes first, and then the
  /// changes of this replay. If a change is refused, some tasks may already have changed. In that
  /// case the caller must `defer` the list. After an update for which the driver had no memory,
  /// every further call is refused.
  [[nodiscard]] refusal rewrite(std::uint32_t changes);
  /// Stores the changes of a list that were not made, or were made only in part, and gives the list
  /// back. The next `rewrite` makes these changes first, so no replay before the one that the list
  /// belongs to may be launched after this call.
  void defer(std::uint32_t changes);
  /// Launches the graph into the lane's stream. The graph's last node writes `number`, the lane's
  /// next number. If the call fails, the caller must `defer` the changes of this replay.
  /// @param replay  The number of the replay. Ignored if the part has no group.
  [[nodiscard]] driver::call_outcome enqueue(lane const& lane, std::uint64_t number,
                                             std::uint64_t replay = 0);
  /// Returns a number that grows with each list of changes that `rewrite` gets. A replay in flight
  /// that was launched with another number had other arguments than the next launch will have.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  /// Call this after the device was lost: no operation that was in flight will be done.
  void note_loss() noexcept { graph_->note_loss(); }
  /// Copies the graph to the device, so that the first replay need not copy it.
  /// @return the driver's status. An error does not prevent replays unless it is sticky.
  [[nodiscard]] CUresult upload(CUstream stream) noexcept { return graph_->upload(stream); }

  // ---- any thread ----

  [[nodiscard]] std::string describe() const;
  [[nodiscard]] std::string describe_kernel(std::uint32_t kernel) const;
  [[nodiscard]] unsigned device() const noexcept { return device_; }
  /// When the last replay was launched.
  [[nodiscard]] std::chrono::steady_clock::time_point last_launch() const noexcept {
    return launched_.load(std::memory_order_relaxed);
  }
  /// The group of a part that waits for other parts; otherwise null.
  [[nodiscard]] replay_group* group() const noexcept { return group_.get(); }
  [[nodiscard]] std::uint32_t number_in_group() const noexcept { return number_in_group_; }
  change_lists lists;

 private:
  /// Makes a graph. Tasks whose grid the driver refuses become nodes of their own.
  /// @param alone  By task: whether the task must be a node of its own. The call may set more
  /// entries.
  [[nodiscard]] std::unique_ptr<recorded_graph> make_graph(change_list const& contents,
                                                           std::vector<bool>& alone);
  [[nodiscard]] std::vector<task_share> shares_of(change_list const& contents,
                                                  std::vector<bool> const& alone) const;
  [[nodiscard]] refusal rewrite(change_list const& changes);
  [[nodiscard]] refusal rewrite_in_place(change_list const& changes);
  /// Notes whether a call that has failed may have damaged the graph.
  void note_damage(driver::call_outcome const& answer) noexcept;
  /// Replaces the graph with a new graph that has these changes. If that fails, the present graph
  /// stays as it is.
  /// @param apart  Tasks that the new graph must not have in a grid.
  [[nodiscard]] refusal rebuild(change_list const& changes, std::span<std::uint32_t const> apart);
  void name_kernels(change_list const& contents) noexcept;
  [[nodiscard]] std::string subject(std::optional<std::uint32_t> task,
                                    change_list const& contents) const;

  context::context_handle const& context_;
  planned_part const plan_;
  kernel_table const& kernels_;
  grid_limits const& limits_;
  CUdeviceptr const counter_;
  builtin_functions const builtins_;
  registered_slabs& memory_;
  completion_page const& page_;
  CUstream const memory_stream_;
  unsigned const device_;
  std::function<float(std::uint32_t kernel)> const kernel_ns_;
  std::shared_ptr<replay_group> const group_;
  std::uint32_t const number_in_group_;
  // The kernel of each task, or no_kernel. Any thread may read these values for an error text.
  std::unique_ptr<std::atomic<std::uint32_t>[]> task_kernels_;
  std::vector<bool> alone_;  // by task: whether it must be a node of its own
  std::unique_ptr<recorded_graph> graph_;
  // The replaced graphs. Their replays may still be in flight, and to destroy a graph, the driver
  // may wait until the device is idle.
  std::vector<std::unique_ptr<recorded_graph>> replaced_;
  change_list deferred_;
  std::uint64_t version_ = 0;
  std::atomic<std::chrono::steady_clock::time_point> launched_{};
  // The update of the graph that failed for lack of memory, if there was one. On an H200, a graph
  // faults after such a failure when it is launched again, so this graph is not launched any more.
  driver::call_outcome damage_{};
};

}  // namespace flotilla::dispatch

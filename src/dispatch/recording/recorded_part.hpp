// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recorded tasks of one device. Each replay launches them together, as one graph.

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "context/context_handle.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/recording/change_list.hpp"
#include "dispatch/recording/recorded_graph.hpp"
#include "dispatch/recording/recording_plan.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease, with the context current, except for the section
/// "any thread".
class recorded_part {
 public:
  struct build_args {
    planned_part const& plan;
    std::span<recorded_action const> actions;  // by task index
    kernel_table const& kernels;
    CUdeviceptr counter;
    builtin_functions builtins;
    registered_slabs& records;  // `records` and `page` must outlive the part
    completion_page const& page;
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
  /// Changes the nodes for the next `enqueue`. Makes the deferred changes first, and then the
  /// changes of this replay. If a change is refused, some nodes may already have changed. In that
  /// case the caller must `defer` the list. After an update for which the driver had no memory,
  /// every further call is refused.
  [[nodiscard]] refusal rewrite(std::uint32_t changes);
  /// Stores the changes of a list that were not made, or were made only in part, and gives the list
  /// back. The next `rewrite` makes these changes first.
  void defer(std::uint32_t changes);
  /// Launches the graph into the lane's stream. The graph's last node writes `number`, the lane's
  /// next number. If the call fails, the caller must `defer` the changes of this replay.
  [[nodiscard]] CUresult enqueue(lane const& lane, std::uint64_t number) noexcept;
  /// Copies the graph to the device, so that the first replay need not copy it. May wait for
  /// `stream`, which must hold no long work.
  /// @return the driver's status. An error does not prevent replays unless it is sticky.
  /// @throws driver_error, std::bad_alloc  After an exception the part cannot be used.
  [[nodiscard]] CUresult upload(CUstream stream);

  // ---- any thread ----

  [[nodiscard]] std::string describe() const;
  [[nodiscard]] std::string describe_kernel(std::uint32_t kernel) const;
  [[nodiscard]] unsigned device() const noexcept { return device_; }
  change_lists lists;

 private:
  [[nodiscard]] std::unique_ptr<recorded_graph> make_graph(registered_slabs* records);
  [[nodiscard]] refusal rewrite(change_list const& changes);
  /// Replaces the graph with a new graph that the driver rewrites. The nodes of the new graph hold
  /// the contents of `current_`.
  [[nodiscard]] refusal stop_device_updates();
  [[nodiscard]] std::string subject(std::optional<std::uint32_t> node) const;

  context::context_handle const& context_;
  planned_part const plan_;
  kernel_table const& kernels_;
  CUdeviceptr counter_;
  builtin_functions const builtins_;
  completion_page const& page_;
  unsigned const device_;
  // The kernel of each node, or no_kernel. Any thread may read these values for an error text.
  std::unique_ptr<std::atomic<std::uint32_t>[]> node_kernels_;
  // The wanted contents of all nodes. Empty if the driver rewrites the graph.
  change_list current_;
  std::unique_ptr<recorded_graph> graph_;
  // The replaced graph, whose replays may still be in flight.
  std::unique_ptr<recorded_graph> retired_graph_;
  change_list deferred_;
  // The update of the graph that failed for lack of memory, if there was one. On an H200, a graph
  // faults after such a failure when it is launched again, so this graph is not launched any more.
  driver::call_outcome damage_{};
};

}  // namespace flotilla::dispatch

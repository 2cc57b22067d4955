#pragma once
// The recorded tasks of one device that are launched together for every replay.

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

/// Only the holder of the device's lease, with the context current, unless a function says
/// otherwise.
class recorded_part {
 public:
  struct build_args {
    planned_part const& plan;
    std::span<recorded_action const> actions;  // by task
    kernel_table const& kernels;
    CUdeviceptr counter;
    builtin_functions builtins;
    registered_slabs& records;  // these two outlive the part
    completion_page const& page;
  };
  /// @throws driver_error  naming the task and its kernel, if the driver says which one it refuses.
  recorded_part(context::context_handle const& context, build_args const& args);
  /// Calls nothing: objects that were not destroyed belonged to the context and went with it.
  ~recorded_part() = default;
  recorded_part(recorded_part const&) = delete;
  recorded_part& operator=(recorded_part const&) = delete;
  void destroy() noexcept;

  struct refusal {
    driver::call_outcome why{};
    std::uint32_t kernel = 0;    // or no_kernel
    std::exception_ptr error{};  // not null if there is a better error than `why`
  };
  /// Makes the nodes hold the deferred changes and then those of a replay, from the next `enqueue`
  /// on. If a change is refused, some nodes may hold theirs; the list still belongs to the caller,
  /// who must defer it.
  [[nodiscard]] refusal rewrite(std::uint32_t changes);
  /// Keeps changes that were not made, or not all of them: the next `rewrite` makes them first.
  void defer(std::uint32_t changes);
  /// Puts the graph into the lane's stream. The graph's last node writes `number`, which is the
  /// lane's next number. If the call fails, the caller must `defer` the changes that it made.
  [[nodiscard]] CUresult enqueue(lane const& lane, std::uint64_t number) noexcept;
  /// Copies the graph to the device before its first replay. Waits for `stream`, which must hold
  /// nothing long.
  /// @throws driver_error, std::bad_alloc  The part cannot be used.
  [[nodiscard]] CUresult upload(CUstream stream);

  // ---- any thread ----

  [[nodiscard]] std::string describe() const;
  [[nodiscard]] std::string describe_kernel(std::uint32_t kernel) const;
  [[nodiscard]] unsigned device() const noexcept { return device_; }
  change_lists lists;

 private:
  [[nodiscard]] std::unique_ptr<recorded_graph> make_graph(registered_slabs* records);
  [[nodiscard]] refusal rewrite(change_list const& changes);
  /// Replaces the graph by one that the driver rewrites, whose nodes hold `current_`.
  [[nodiscard]] refusal stop_device_updates();
  [[nodiscard]] std::string subject(std::optional<std::uint32_t> node) const;

  context::context_handle const& context_;
  planned_part const plan_;
  kernel_table const& kernels_;
  CUdeviceptr counter_;
  builtin_functions const builtins_;
  completion_page const& page_;
  unsigned const device_;
  // The kernel of each node, or no_kernel. For messages, which any thread may build.
  std::unique_ptr<std::atomic<std::uint32_t>[]> node_kernels_;
  change_list current_;  // of a device-updated graph: what its nodes hold or shall hold; else empty
  std::unique_ptr<recorded_graph> graph_;
  std::unique_ptr<recorded_graph> retired_graph_;  // the one before: replays may be in flight
  change_list deferred_;
};

}  // namespace flotilla::dispatch

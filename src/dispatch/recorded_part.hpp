#pragma once
// Recorded tasks of one device, instantiated: a graph that is launched for every replay.

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "context/floating_context.hpp"
#include "dispatch/change_list.hpp"
#include "dispatch/end_node.hpp"
#include "dispatch/kernel_table.hpp"
#include "dispatch/recording_plan.hpp"

namespace flotilla::dispatch {

/// What a slot holds of a replay.
struct replayed_part {
  std::uint32_t part = 0;                        // in the store
  std::uint32_t changes = change_lists::none;    // of that part: to be made before it is launched
  std::uint32_t order_only = 0;                  // of the first so many of `after` the order counts, and not how they end
};

/// Only the holder of the device's lease, with the context current, but for what says otherwise.
class recorded_part {
 public:
  struct making {
    planned_part const& plan;
    std::span<recorded_action const> actions;  // by task
    kernel_table const& table;
    CUdeviceptr counter;  // any of the device's: each launch names its own
    CUfunction marker;    // what writes the number behind it: see end_node
  };
  /// @throws driver_error  naming the task and its kernel, where the driver says which it was.
  recorded_part(context::floating_context const& context, making const& from);
  /// Calls nothing: what was not destroyed is the context's, and went with it.
  ~recorded_part() = default;
  recorded_part(recorded_part const&) = delete;
  recorded_part& operator=(recorded_part const&) = delete;
  void destroy() noexcept;

  struct refusal {
    CUresult status = CUDA_SUCCESS;
    char const* call = "";
    std::uint32_t kernel = 0;  // or no_kernel
  };
  /// Has the nodes hold what a replay has changed, and what is owed. On refusal some may hold it: the list is still the
  /// caller's, to be owed.
  [[nodiscard]] refusal rewrite(std::uint32_t changes);
  /// These changes were not made, or not all: the next rewrite makes them first.
  void owe(std::uint32_t changes);
  /// Puts it into the stream; behind its nodes `number` is written to `counter`.
  [[nodiscard]] CUresult enqueue(CUstream stream, CUdeviceptr counter, std::uint64_t number) noexcept;
  [[nodiscard]] CUresult upload(CUstream stream) noexcept;

  // Any thread.
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] std::string words(std::uint32_t kernel) const;
  [[nodiscard]] unsigned device() const noexcept { return device_; }
  change_lists lists;

 private:
  void build(making const& from);
  /// Adds a node, or where the graph is instantiated rewrites it. `ahead` counts only where it is added.
  struct outcome { CUresult status; char const* call; };
  [[nodiscard]] outcome put(change_list::change const& what, std::byte const* arguments, std::span<CUgraphNode const> ahead);
  [[nodiscard]] outcome put_transfer(std::uint32_t node, transfer const& what, std::span<CUgraphNode const> ahead);
  [[nodiscard]] refusal rewrite(change_list const& changes);
  [[nodiscard]] std::string subject(making const& from, std::uint32_t node) const;

  context::floating_context const& context_;
  kernel_table const& table_;
  unsigned device_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  std::vector<CUgraphNode> nodes_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> kernels_;  // of the nodes, or no_kernel; for messages
  end_node end_;
  change_list owed_;
  std::vector<void*> pointers_;  // scratch
};

/// The parts of a runtime's recordings, named by index. Any thread.
class recorded_parts {
 public:
  [[nodiscard]] std::uint32_t add(std::shared_ptr<recorded_part> part);
  /// Null where it is gone.
  [[nodiscard]] std::shared_ptr<recorded_part> get(std::uint32_t index) const;
  [[nodiscard]] std::shared_ptr<recorded_part> take(std::uint32_t index);
  /// As the device's context ends.
  void destroy_all_of(unsigned device) noexcept;

 private:
  std::mutex mutable mutex_;
  std::vector<std::shared_ptr<recorded_part>> parts_;
  std::vector<std::uint32_t> free_;
};

}  // namespace flotilla::dispatch

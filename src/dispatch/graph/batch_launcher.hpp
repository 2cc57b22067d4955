#pragma once
// Puts a batch of launches into its lane's stream: as one graph launch, or one by one.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/graph/builtin_kernels.hpp"
#include "dispatch/graph/device_updated_pool.hpp"
#include "dispatch/graph/kernel_node.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/graph/template_pool.hpp"
#include "dispatch/lane/completion_board.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Properties that the tasks of a batch have in common.
struct batch_traits {
  static constexpr std::uint32_t no_kernel = 0xffff'ffff;

  std::uint32_t chains = 1;
  std::uint32_t rows_per_completion = 1;  // see graph_template
  std::uint32_t kernel = no_kernel;       // of all its tasks; no_kernel: they differ
  end_mark device_wait{};     // of another device, if the batch itself waits for it; else not valid
  bool ordered = false;       // some of its tasks run after others of it
  bool long_running = false;  // one of its kernels is not short, or nobody has measured it
  bool prompt = false;        // nothing on the device runs long or waits for another device
};

/// One graph launch while it is prepared. Reused, so that a steady state allocates nothing.
struct prepared_batch {
  struct refusal {
    slot_address task;
    CUresult status;
  };

  graph_template* carrier = nullptr;  // null: the driver cannot make a template of the first task
  CUresult status = CUDA_SUCCESS;     // the driver's answer in that case
  std::uint32_t taken = 0;            // tasks that are in it or were refused, a count
  std::array<lane::batch*, template_pool::max_completions> batches{};
  std::uint32_t batch_count = 0;
  bool intact = true;            // every node holds its task or is disabled
  std::vector<refusal> refused;  // launches that the driver refuses

  [[nodiscard]] std::span<lane::batch* const> all() const noexcept {
    return {batches.data(), batch_count};
  }
};

/// Only the holder of the device's lease, with the context current. It reports what the driver
/// refuses and decides nothing about it.
class batch_launcher {
 public:
  /// The objects that the launcher works with.
  struct parts {
    context::context_handle const& context;
    task_table const& tasks;
    kernel_table const& kernels;
    completion_board const& board;
    lane_set& lanes;
  };
  explicit batch_launcher(parts const& with);
  /// Loads flotilla's own kernels and reserves memory for graphs. @throws driver_error,
  /// std::bad_alloc
  /// @param idle_stream   A stream that holds nothing else: the call waits for it.
  /// @param replacements  Kernels of a CPU device, for tests; or null.
  void create(CUstream idle_stream, builtin_functions const* replacements);
  void destroy() noexcept;

  /// Whether this driver can launch batches as graphs.
  [[nodiscard]] bool usable() const noexcept { return templates_.usable(); }

  /// Takes a template for the first of `tasks`, fills it, and begins its batches on the lane. The
  /// lane must have room for max_completions batches.
  void prepare(lane& lane, std::span<slot_address const> tasks, batch_traits const& traits,
               prepared_batch& batch);
  /// Launches it and commits its batches, or cancels them.
  [[nodiscard]] CUresult launch(lane& lane, batch_traits const& traits, prepared_batch& batch);
  /// Call it after the batches that the template carried are done.
  void give_back(graph_template& unused) noexcept;

  /// Launches one task, without a graph.
  [[nodiscard]] CUresult launch_direct(lane const& lane, slot_address task);

  [[nodiscard]] builtin_functions const& functions() const noexcept {
    return builtins_.functions();
  }
  /// Registered memory that graphs of this device use.
  [[nodiscard]] registered_slabs& slabs() noexcept { return slabs_; }

 private:
  /// A device-updated template for the first `size` of `tasks`; null if there is none, or if it
  /// cannot hold them.
  [[nodiscard]] graph_template* take_device_updated(lane const& lane,
                                                    std::span<slot_address const> tasks,
                                                    batch_traits const& traits, std::uint32_t size);
  /// The kernel that writes the number of a batch of that size. Null: a memory operation of the
  /// driver writes it.
  [[nodiscard]] CUfunction completion_for(batch_traits const& traits,
                                          std::uint32_t size) const noexcept;
  /// Whether the device can change everything in which these launches of one kernel differ.
  [[nodiscard]] bool have_one_form(std::span<slot_address const> tasks) const noexcept;
  [[nodiscard]] CUresult fill(graph_template& carrier, std::uint32_t node, slot_address task);
  [[nodiscard]] std::byte const* arguments_of(slot_address task) const noexcept;
  /// Valid until the next call.
  [[nodiscard]] CUDA_KERNEL_NODE_PARAMS const& node_of(slot_address task);

  parts const parts_;
  builtin_kernels builtins_;
  template_pool templates_;
  registered_slabs slabs_;
  device_updated_pool device_updated_;
  kernel_node node_;
};

}  // namespace flotilla::dispatch

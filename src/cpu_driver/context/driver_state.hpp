#pragma once
// The driver of this process: its devices, its tables of handles, its memory. Made on first use and
// never destroyed, because threads and static destructors may call until the very end; at exit the
// device threads are stopped and every further call answers CUDA_ERROR_DEINITIALIZED.

#include <cuda.h>

#include <array>
#include <atomic>
#include <mutex>

#include "cpu_driver/context.hpp"
#include "cpu_driver/event.hpp"
#include "cpu_driver/graph.hpp"
#include "cpu_driver/graph_exec.hpp"
#include "cpu_driver/green_context.hpp"
#include "cpu_driver/handle_table.hpp"
#include "cpu_driver/library.hpp"
#include "cpu_driver/memory_map.hpp"
#include "cpu_driver/module.hpp"
#include "cpu_driver/stream.hpp"

namespace flotilla::cpu_driver {

class device;

class driver_state {
 public:
  using context_table = handle_table<context, CUcontext, handle_kind::context>;
  using green_table = handle_table<green_context, CUcontext, handle_kind::green_context>;
  using stream_table = handle_table<stream, CUstream, handle_kind::stream>;
  using event_table = handle_table<event, CUevent, handle_kind::event>;
  using module_table = handle_table<module, CUmodule, handle_kind::module>;
  using function_table = handle_table<function, CUfunction, handle_kind::function>;
  using library_table = handle_table<library, CUlibrary, handle_kind::library>;
  using kernel_table = handle_table<kernel, CUkernel, handle_kind::kernel>;
  using graph_table = handle_table<graph, CUgraph, handle_kind::graph>;
  using graph_node_table = handle_table<node_place, CUgraphNode, handle_kind::graph_node>;
  using graph_exec_table = handle_table<graph_exec, CUgraphExec, handle_kind::graph_exec>;

  static constexpr int max_devices = 64;

  [[nodiscard]] static driver_state& get() noexcept;

  /// cuInit: reads the environment, makes the devices. Again and from several threads is fine.
  [[nodiscard]] CUresult initialise();
  /// CUDA_SUCCESS between initialise() and the end of the process.
  [[nodiscard]] CUresult ready() const noexcept {
    return phase_.load(std::memory_order_acquire);  // pairs with the release in initialise()
  }

  [[nodiscard]] int device_count() const noexcept {
    return count_.load(std::memory_order_acquire);  // pairs with the release in add_devices()
  }
  /// Null for what is no device.
  [[nodiscard]] device* find_device(int ordinal) const noexcept;
  /// At least `count` devices from now on, max_devices at most.
  void ensure_devices(int count);
  /// The memory of a device that nobody has configured, in bytes.
  [[nodiscard]] std::size_t default_capacity() const noexcept { return default_capacity_; }
  /// Every device looks again at what its streams wait for.
  void nudge_devices() noexcept;

  [[nodiscard]] context_table& contexts() noexcept { return contexts_; }
  [[nodiscard]] green_table& green_contexts() noexcept { return green_contexts_; }
  [[nodiscard]] stream_table& streams() noexcept { return streams_; }
  [[nodiscard]] event_table& events() noexcept { return events_; }
  [[nodiscard]] module_table& modules() noexcept { return modules_; }
  [[nodiscard]] function_table& functions() noexcept { return functions_; }
  [[nodiscard]] library_table& libraries() noexcept { return libraries_; }
  [[nodiscard]] kernel_table& kernels() noexcept { return kernels_; }
  [[nodiscard]] graph_table& graphs() noexcept { return graphs_; }
  [[nodiscard]] graph_node_table& graph_nodes() noexcept { return graph_nodes_; }
  [[nodiscard]] graph_exec_table& graph_execs() noexcept { return graph_execs_; }
  [[nodiscard]] memory_map& memory() noexcept { return memory_; }

 private:
  driver_state() = default;
  void add_devices(int count);  // with mutex_ held
  void end() noexcept;

  std::atomic<CUresult> phase_{CUDA_ERROR_NOT_INITIALIZED};
  std::mutex mutex_;  // of initialise() and ensure_devices()
  std::atomic<int> count_{0};
  std::array<std::atomic<device*>, max_devices> devices_{};  // only ever added to
  std::size_t default_capacity_ = 0;                         // bytes; settled by initialise()
  int least_devices_ = 1;                                    // guarded by mutex_

  context_table contexts_;
  green_table green_contexts_;
  stream_table streams_;
  event_table events_;
  module_table modules_;
  function_table functions_;
  library_table libraries_;
  kernel_table kernels_;
  graph_table graphs_;
  graph_node_table graph_nodes_;
  graph_exec_table graph_execs_;
  memory_map memory_;
};

}  // namespace flotilla::cpu_driver

#pragma once
// The kernels that flotilla itself runs on a GPU.

#include <cuda.h>

#include "context/floating_context.hpp"

namespace flotilla::dispatch {

/// Null where there is none.
struct own_functions {
  /// `(counter, number)`: one thread, which writes a lane's number to the completion page at the end of a graph.
  ///
  /// The driver's own way to write a number, a memory operation, waits until all that its hardware connection has under way is
  /// done. A process has eight of these (CUDA_DEVICE_MAX_CONNECTIONS), so batches that ended with one ran eight at a
  /// time, whatever the number of lanes: kernels of 100 us cost 12.5 us each, and 0.9 us where a kernel ends them. What
  /// it takes longer, its fence, is 0.5 us of a lone task: docs/results/h200-batch-ends.txt.
  CUfunction marker = nullptr;

  /// `()`: does nothing. What a graph of several chains begins with: a graph with one root costs the host 2 us, however wide it
  /// is, and a microsecond of the device; one with several costs the host 0.7 us and more for each of them
  /// (docs/results/h200-roots.txt).
  CUfunction root = nullptr;

  /// `(counter, number, stopped)`: one thread, which returns when the counter has reached the number, and faults its context when
  /// `stopped` is not 0. What a graph begins with whose tasks are behind another device: see awaiting.cpp.
  CUfunction awaiter = nullptr;

  /// `(records, count, stride)`: a thread a record, which writes what it says into a node of the graph that this kernel is part
  /// of: see node_record. Since driver 12.4.
  CUfunction updater = nullptr;
};

/// One of them as a node, of one block. Valid as long as the arguments are.
[[nodiscard]] inline CUDA_KERNEL_NODE_PARAMS one_block(CUfunction kernel, unsigned threads, void** arguments) noexcept {
  CUDA_KERNEL_NODE_PARAMS made{};
  made.func = kernel;
  made.gridDimX = made.gridDimY = made.gridDimZ = 1;
  made.blockDimX = threads;
  made.blockDimY = made.blockDimZ = 1;
  made.kernelParams = arguments;
  return made;
}

/// As PTX, so that they are there however the library was built. Where a driver cannot have one of them there is none, and
/// nothing else is lost.
class own_kernels {
 public:
  /// With the context current. A CPU device has none.
  void create(context::floating_context const& context) noexcept;
  void destroy(context::floating_context const& context) noexcept;

  [[nodiscard]] own_functions const& functions() const noexcept { return functions_; }

  /// Of tests: what stands for them on a CPU device.
  static inline own_functions (*on_cpu_devices)(context::floating_context const&) = nullptr;

 private:
  [[nodiscard]] bool load(context::floating_context const& context, char const* code) noexcept;

  CUmodule module_ = nullptr;
  own_functions functions_;
};

}  // namespace flotilla::dispatch

#pragma once
// The kernels that flotilla itself runs on a GPU.

#include <cuda.h>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// A function is null if the device has none.
struct builtin_functions {
  /// `(counter, number)`: one thread, which writes a lane's number to the completion page at the
  /// end of a graph.
  ///
  /// The driver's own memory operation would wait until everything that its hardware connection has
  /// in flight is done. A process has eight connections (CUDA_DEVICE_MAX_CONNECTIONS), so only
  /// eight batches that ended with one ran at a time, whatever the number of lanes: kernels of 100
  /// us cost 12.5 us each, and 0.9 us if a kernel ends the batch. A lone task ends 0.5 us later
  /// because of the kernel's fence (docs/results/h200-batch-ends.txt).
  CUfunction completion = nullptr;

  /// `()`: does nothing. The entry node of a graph of several chains: launching a graph with one
  /// root costs the host 2 us however wide the graph is, and the device 1 us; every further root
  /// costs the host 0.7 us and more (docs/results/h200-roots.txt).
  CUfunction entry = nullptr;

  /// `(counter, number, stop)`: one thread, which polls until the counter has reached the number,
  /// and traps if `stop` is not 0. The entry node of a graph whose tasks wait for another device
  /// (see device_side_waits).
  CUfunction spin = nullptr;

  /// `(records, count, stride)`: one thread a record, which writes the record into a node of the
  /// graph that this kernel is part of (see node_record). Since driver 12.4.
  CUfunction update = nullptr;
};

/// A kernel node of one block. Valid as long as the arguments.
[[nodiscard]] inline CUDA_KERNEL_NODE_PARAMS one_block(CUfunction kernel, unsigned threads,
                                                       void** arguments) noexcept {
  CUDA_KERNEL_NODE_PARAMS made{};
  made.func = kernel;
  made.gridDimX = made.gridDimY = made.gridDimZ = 1;
  made.blockDimX = threads;
  made.blockDimY = made.blockDimZ = 1;
  made.kernelParams = arguments;
  return made;
}

/// The kernels are PTX text, so they do not depend on how the library was built. If a driver
/// refuses one of them, the others are still used. A CPU device has none.
class builtin_kernels {
 public:
  /// With the context current.
  void create(context::context_handle const& context) noexcept;
  void destroy(context::context_handle const& context) noexcept;

  [[nodiscard]] builtin_functions const& functions() const noexcept { return functions_; }
  /// Replaces them. Tests put kernels of a CPU device here.
  void use(builtin_functions const& functions) noexcept { functions_ = functions; }

 private:
  [[nodiscard]] bool load(context::context_handle const& context, char const* code) noexcept;

  CUmodule module_ = nullptr;
  builtin_functions functions_;
};

}  // namespace flotilla::dispatch

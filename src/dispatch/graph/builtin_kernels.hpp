#pragma once
// The kernels that flotilla itself runs on a GPU.

#include <cuda.h>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// The functions of one device. A function is null if the device does not have it.
struct builtin_functions {
  /// `(counter, number)`: the completion kernel. Its one thread writes a lane's completion number
  /// at the end of a graph.
  ///
  /// The alternative is a memory operation of the driver. It waits until all work on its hardware
  /// connection has ended. A process has eight connections (CUDA_DEVICE_MAX_CONNECTIONS). So only
  /// eight batches that end with a memory operation run at a time, however many lanes there are.
  /// Kernels of 100 us then cost 12.5 us each; with the completion kernel they cost 0.9 us. The
  /// kernel's fence delays the end of a lone task by 0.5 us (docs/results/h200-batch-ends.txt).
  CUfunction completion = nullptr;

  /// `()`: the entry kernel. It does nothing and is the only root of a graph of several chains.
  /// Launching a graph with one root costs the host 2 us at any width, and the device 1 us. Every
  /// further root would cost the host 0.7 us or more (docs/results/h200-roots.txt).
  CUfunction entry = nullptr;

  /// `(counter, number, stop)`: the spin kernel. Its one thread polls until the counter has reached
  /// the number, and traps if `stop` is not 0. It is the entry node of a graph that waits for
  /// another device (see device_side_waits).
  CUfunction spin = nullptr;

  /// `(records, count, stride)`: the updating kernel. It has one thread for each record. The thread
  /// copies the record into a node of the graph that contains this kernel (see node_record). Needs
  /// driver 12.4.
  CUfunction update = nullptr;
};

/// Returns the parameters of a kernel node with one block. They are valid as long as `arguments`.
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

/// Loads the kernels. They are PTX text that the driver compiles, so they do not depend on how the
/// library was built. If the driver refuses the updating kernel, the other kernels are still
/// loaded. A CPU device has no such kernels.
class builtin_kernels {
 public:
  /// Call it with the context current.
  void create(context::context_handle const& context) noexcept;
  void destroy(context::context_handle const& context) noexcept;

  [[nodiscard]] builtin_functions const& functions() const noexcept { return functions_; }
  /// Replaces the kernels. Tests use it for kernels of a CPU device.
  void use(builtin_functions const& functions) noexcept { functions_ = functions; }

 private:
  [[nodiscard]] bool load(context::context_handle const& context, char const* code) noexcept;

  CUmodule module_ = nullptr;
  builtin_functions functions_;
};

}  // namespace flotilla::dispatch

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels that flotilla itself runs on a GPU.

#include <cuda.h>

#include <string>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// The functions of one device. A function is null if the device does not have it.
struct builtin_functions {
  /// `(counter, number)`: the completion kernel. Its only thread writes a lane's completion number.
  ///
  /// The alternative is a write-value operation (cuStreamBatchMemOp). The driver starts such an
  /// operation only when all work on its hardware connection has ended. A context has eight
  /// connections (CUDA_DEVICE_MAX_CONNECTIONS). So only eight batches that end with a write-value
  /// operation run at a time, however many lanes there are. With kernels of 100 us, one task then
  /// ends every 12.5 us. With the completion kernel, one task ends every 0.9 us. The release store
  /// of the completion kernel delays the end of a single task by 0.5 us
  /// (docs/results/h200-batch-ends.txt).
  CUfunction completion = nullptr;

  /// `()`: the entry kernel. It does nothing and is the only root of a graph of several chains.
  /// Launching a graph with one root costs the host 2 us, however many chains the graph has. Every
  /// further root would cost the host 0.7 us or more. The entry kernel costs the device 1 us
  /// (docs/results/h200-roots.txt).
  CUfunction entry = nullptr;

  /// `(counter, number, stop)`: the spin kernel. Its only thread polls until the counter has
  /// reached the number, and traps if the word at `stop` is not 0. The spin kernel is the entry
  /// node of a graph that waits for another device (see device_side_waits).
  CUfunction spin = nullptr;

  /// `(words, base, own, level, needs[32])`: the exchange kernel. Its warp tells the other parts of
  /// a recording how far this part is, and polls until they have come as far as this part needs
  /// (graph_exchanges). Words are progress_words::stride bytes apart. The element for a part is 1 +
  /// the level that the part must have reached, or 0.
  CUfunction exchange = nullptr;

  /// The kernels that copy and fill, and their twins (see copy_kernels). Their parameter is the
  /// beginning of a memory_command. A device has all four or none.
  CUfunction copy = nullptr;
  CUfunction copy_twin = nullptr;
  CUfunction fill = nullptr;
  CUfunction fill_twin = nullptr;
  [[nodiscard]] bool can_copy() const noexcept {
    return copy != nullptr && copy_twin != nullptr && fill != nullptr && fill_twin != nullptr;
  }
};

/// Returns the parameters of a kernel node with one block. The parameters are valid as long as the
/// array `arguments` exists.
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

/// Loads the built-in kernels. The driver compiles them from PTX text, so they are the same in
/// every build of the library. If the driver refuses the kernels that copy and fill, the other
/// kernels are still loaded. A CPU device has no such kernels.
class builtin_kernels {
 public:
  /// Call it with the context current.
  void create(context::context_handle const& context) noexcept;
  void destroy(context::context_handle const& context) noexcept;

  [[nodiscard]] builtin_functions const& functions() const noexcept { return functions_; }
  /// Replaces the kernels. Tests call it with kernels of a CPU device.
  void use(builtin_functions const& functions) noexcept { functions_ = functions; }

 private:
  /// @throws std::bad_alloc
  [[nodiscard]] bool load(context::context_handle const& context, std::string const& code);

  CUmodule module_ = nullptr;
  builtin_functions functions_;
};

}  // namespace flotilla::dispatch

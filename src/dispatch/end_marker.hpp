#pragma once
// The kernel that ends a batch.

#include <cuda.h>

#include "context/floating_context.hpp"

namespace flotilla::dispatch {

/// A kernel of one thread that writes a lane's number to the completion page, for the end of a graph.
///
/// The driver's own way to write a number, a memory operation, waits until all that its hardware connection has under way is
/// done. A process has eight of these (CUDA_DEVICE_MAX_CONNECTIONS), so batches that ended with one ran eight at a
/// time, whatever the number of lanes: kernels of 100 us cost 12.5 us each, and 0.9 us where a kernel ends them. What
/// it takes longer, its fence, is 0.5 us of a lone task: docs/results/h200-batch-ends.txt.
class end_marker {
 public:
  /// With the context current, of a GPU. Where the driver cannot have it, there is none, and nothing else is lost.
  void create(context::floating_context const& context) noexcept;
  void destroy(context::floating_context const& context) noexcept;
  /// `(counter, number)`; null: there is none.
  [[nodiscard]] CUfunction function() const noexcept { return function_; }

 private:
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

}  // namespace flotilla::dispatch

#pragma once
// The result of a driver call, as a value.

#include <cuda.h>

namespace flotilla::driver {

/// For code that must not throw. It has the name of the call for messages.
struct call_outcome {
  CUresult status = CUDA_SUCCESS;
  char const* call = "";
  [[nodiscard]] bool ok() const noexcept { return status == CUDA_SUCCESS; }
};

}  // namespace flotilla::driver

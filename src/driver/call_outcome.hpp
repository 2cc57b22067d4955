// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The result of a driver call as a value, for code that must not throw.

#include <cuda.h>

namespace flotilla::driver {

struct call_outcome {
  CUresult status = CUDA_SUCCESS;
  char const* call = "";  // the name of the driver call, for messages
  [[nodiscard]] bool ok() const noexcept { return status == CUDA_SUCCESS; }
};

}  // namespace flotilla::driver

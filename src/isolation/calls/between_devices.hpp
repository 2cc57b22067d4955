// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies between two devices of which at least one is isolated. No process has the memory of both,
// so the copies go through host memory, and the calls wait for them.

#include <cuda.h>

#include <cstddef>

namespace flotilla::isolated {

/// The context that an allocation of an isolated device belongs to, or null.
[[nodiscard]] CUcontext context_of(CUdeviceptr address);

/// cuMemcpyPeerAsync. Each of the contexts may be one of a worker or of this process.
CUresult CUDAAPI memcpy_peer_async(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                   CUcontext from_context, std::size_t bytes, CUstream stream);

/// See driver::table::copy_rows_between.
CUresult copy_rows_between(CUDA_MEMCPY2D const* what, CUcontext to_context, CUcontext from_context,
                           CUstream stream);

}  // namespace flotilla::isolated

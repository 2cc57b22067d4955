// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Declares functions that launch the kernels of runtime_kernels.cu and nested_kernels.cu. Each
// function launches its kernel, usually one thread, on `stream` in the current context and returns
// cudaGetLastError().
// The comments describe the launched kernels.

#include <cuda_runtime_api.h>

namespace flotilla::test {

/// Writes `value` to `*where`.
cudaError_t launch_put(int* where, int value, cudaStream_t stream);
/// Computes y = a x + y for `n` elements.
cudaError_t launch_axpy(float a, float const* x, float* y, int n, cudaStream_t stream);
/// Returns the symbol of the kernel that `launch_axpy` launches, for cudaGetKernel.
void const* axpy_symbol();
/// The first kernel writes a `__device__` variable, and the second kernel reads this variable. The
/// initial value of the variable in each context is 7.
cudaError_t launch_put_state(int value, cudaStream_t stream);
cudaError_t launch_take_state(int* to, cudaStream_t stream);
/// Returns the address of this variable in the current context.
cudaError_t address_of_state(void** address);
/// Sets words[0] to 1, then waits until words[1] is not 0.
cudaError_t launch_hold(unsigned* words, cudaStream_t stream);
/// Writes texel i of the texture to out[i].
cudaError_t launch_read_texture(float* out, cudaTextureObject_t from, int count,
                                cudaStream_t stream);
/// Writes `value` + i to element i of the surface's array.
cudaError_t launch_write_surface(cudaSurfaceObject_t to, int count, float value,
                                 cudaStream_t stream);
/// Launches `children` kernels. Writes the number of failed launches to `*failed` and the error of
/// the first failed launch to `*first_error`.
cudaError_t launch_children(int children, int* failed, int* first_error, cudaStream_t stream);

}  // namespace flotilla::test

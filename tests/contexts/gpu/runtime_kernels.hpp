#pragma once
// The interface of runtime_kernels.cu for the tests, which a C++ compiler compiles.

#include <cuda_runtime_api.h>

namespace flotilla::test {

/// Launches `<<<1, 1>>>` on `where` in the current context. @return what cudaGetLastError returns.
cudaError_t launch_put(int* where, int value, cudaStream_t stream);
/// Writes the file's `__device__` variable; reads it. It is 7 in a context in which it was never
/// written.
cudaError_t launch_put_state(int value, cudaStream_t stream);
cudaError_t launch_take_state(int* to, cudaStream_t stream);
/// Sets words[0] to 1, then waits until words[1] is set.
cudaError_t launch_hold(unsigned* words, cudaStream_t stream);
/// out[i] = texel i of the texture.
cudaError_t launch_read_texture(float* out, cudaTextureObject_t from, int count,
                                cudaStream_t stream);
/// A kernel that launches `children` empty kernels from the device, and writes the number of failed
/// launches and the first error.
cudaError_t launch_children(int children, int* failed, int* first_error, cudaStream_t stream);

}  // namespace flotilla::test

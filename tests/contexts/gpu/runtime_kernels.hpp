#pragma once
// What runtime_kernels.cu gives the tests, which a C++ compiler compiles.

#include <cuda_runtime_api.h>

namespace flotilla::test {

/// `<<<1, 1>>>` on `where` in the current context. @return what cudaGetLastError says.
cudaError_t launch_put(int* where, int value, cudaStream_t stream);
/// Writes the file's `__device__` variable; reads it. 7 in a context that nobody wrote to.
cudaError_t launch_put_state(int value, cudaStream_t stream);
cudaError_t launch_take_state(int* to, cudaStream_t stream);
/// words[0] = 1, and then until words[1] is set.
cudaError_t launch_hold(unsigned* words, cudaStream_t stream);
/// out[i] = the texture's texel i of a row.
cudaError_t launch_read_texture(float* out, cudaTextureObject_t from, int count,
                                cudaStream_t stream);
/// A kernel that starts `children` empty ones from the device, and writes how many starts failed,
/// and the first error.
cudaError_t launch_children(int children, int* failed, int* first_error, cudaStream_t stream);

}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// expect: texture.cu:5: error: textures \(cudaTextureObject_t\).*texture.cu:6: error: texture fetches \(tex1D
extern "C" __global__ void kernel(cudaTextureObject_t from, float* out) {
  *out = tex2D<float>(from, 0.0f, 0.0f);
}

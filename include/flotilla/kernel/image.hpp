// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Compiled kernels that `flotilla_add_kernels()` embeds into a program.

#include <cstddef>

namespace flotilla {
inline namespace v0_1 {

/// The compiled kernels of one `flotilla_add_kernels()` call, for GPUs and for CPU devices. The
/// struct only points to the bytes, which are part of a program or shared library. That program or
/// library must stay loaded while a runtime uses the image.
struct image {
  char const* name = "";  ///< used in error messages: the name of the CMake target
  /// A fatbin, a cubin, or PTX text that ends with a zero byte. Null if the build had
  /// `FLOTILLA_GPU_KERNELS=OFF`.
  void const* gpu = nullptr;
  std::size_t gpu_bytes = 0;
  /// A CPU image (a shared object).
  void const* cpu = nullptr;
  std::size_t cpu_bytes = 0;
  /// Null, or the names of the kernels in an image that was made with the option `GPU_ONLY`: an
  /// array of strings that ends with a null pointer. Such an image has no code for CPU devices. CPU
  /// devices load it, but `program::kernel` throws gpu_only_kernel.
  char const* const* gpu_only = nullptr;
};

}  // namespace v0_1
}  // namespace flotilla

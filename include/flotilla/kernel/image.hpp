#pragma once
/// Kernels as data: what `flotilla_add_kernels()` embeds into a program.

#include <cstddef>

namespace flotilla {
inline namespace v0_1 {

/// The compiled kernels of one `flotilla_add_kernels()` call, for GPUs and for CPU devices.
/// It neither copies nor owns the bytes: they are part of the program or library that the build
/// embedded them into, and must exist as long as a runtime has the image loaded.
///
/// `gpu` is a fatbin, a cubin or PTX text (then ended by a zero byte); null when built with
/// `FLOTILLA_GPU_KERNELS=OFF`. `cpu` is a CPU image (a shared object).
struct image {
  char const* name = "";  ///< for messages: the target's name
  void const* gpu = nullptr;
  std::size_t gpu_bytes = 0;
  void const* cpu = nullptr;
  std::size_t cpu_bytes = 0;
};

}  // namespace v0_1
}  // namespace flotilla

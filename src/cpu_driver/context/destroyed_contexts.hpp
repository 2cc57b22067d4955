#pragma once
// What a destroyed context still says to a thread that has it current: its device and its flags. An
// H200's driver reads both from what it has freed; everything else answers
// CUDA_ERROR_CONTEXT_IS_DESTROYED.

#include <cuda.h>

#include <cstddef>
#include <optional>

namespace flotilla::cpu_driver::corpses {

struct facts {
  int device;
  unsigned flags;
};

/// The latest so many are known.
inline constexpr std::size_t most = 4096;

/// Remembers one. Out of memory it is not remembered.
void add(CUcontext ended, facts what) noexcept;
/// Nothing for what is not known.
[[nodiscard]] std::optional<facts> find(CUcontext ended);

}  // namespace flotilla::cpu_driver::corpses

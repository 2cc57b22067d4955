#pragma once
// The device and the flags of destroyed contexts. A thread that still has such a context current
// can ask for both: an H200's driver answers from memory that it has freed. Every other question is
// answered with CUDA_ERROR_CONTEXT_IS_DESTROYED.

#include <cuda.h>

#include <cstddef>
#include <optional>

namespace flotilla::cpu_driver::destroyed_contexts {

struct facts {
  int device;
  unsigned flags;
};

/// Older contexts are forgotten.
inline constexpr std::size_t max_known = 4096;

/// Remembers a context, unless memory runs out.
void add(CUcontext handle, facts its_facts) noexcept;
/// Empty if the context is not known.
[[nodiscard]] std::optional<facts> find(CUcontext handle);

}  // namespace flotilla::cpu_driver::destroyed_contexts

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The device and the flags of destroyed contexts. A thread on which a destroyed context is still
// current can query the device and the flags, as on an H200. All other calls that use the context
// return CUDA_ERROR_CONTEXT_IS_DESTROYED.

#include <cuda.h>

#include <cstddef>
#include <optional>

namespace flotilla::cpu_driver::destroyed_contexts {

struct facts {
  int device;
  unsigned flags;
};

/// The maximum number of remembered contexts. Older destroyed contexts are forgotten.
inline constexpr std::size_t max_known = 4096;

/// Remembers a context. Does nothing if memory runs out.
void add(CUcontext handle, facts its_facts) noexcept;
/// Returns nothing if the context is not known.
[[nodiscard]] std::optional<facts> find(CUcontext handle);

}  // namespace flotilla::cpu_driver::destroyed_contexts

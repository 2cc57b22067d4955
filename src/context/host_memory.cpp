// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/host_memory.hpp"

#include "base/memory_policy.hpp"

namespace flotilla::context {

CUresult allocate_pinned(context_handle const& context, void*& memory, std::size_t bytes,
                         unsigned flags) noexcept {
  base::preferred_memory const near{context.host_node()};
  return context.api().mem_host_alloc(&memory, bytes, flags);
}

}  // namespace flotilla::context

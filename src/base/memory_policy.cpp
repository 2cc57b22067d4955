// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/memory_policy.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace flotilla::base {

namespace {
constexpr std::size_t max_nodes = 1024;  // of Linux (CONFIG_NODES_SHIFT is at most 10)
constexpr std::size_t bits = 8 * sizeof(unsigned long);
using node_mask = std::array<unsigned long, max_nodes / bits>;
constexpr unsigned long mask_bits = max_nodes + 1;  // Linux reads one bit less than it is told
}  // namespace

preferred_memory::preferred_memory(int node) noexcept {
  if (node < 0 || static_cast<std::size_t>(node) >= max_nodes) { return; }
  int const before = errno;
  int mode = MPOL_DEFAULT;
  // System calls instead of libnuma, so that programs need no further library.
  if (::syscall(SYS_get_mempolicy, &mode, nullptr, 0ul, nullptr, 0ul) == 0 &&
      mode == MPOL_DEFAULT) {
    node_mask nodes{};
    auto const bit = static_cast<std::size_t>(node);
    nodes[bit / bits] = 1ul << bit % bits;
    is_set_ = ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes.data(), mask_bits) == 0;
  }
  errno = before;
}

preferred_memory::~preferred_memory() {
  if (!is_set_) { return; }
  int const before = errno;
  static_cast<void>(::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0ul));
  errno = before;
}

}  // namespace flotilla::base

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/kernel_table.hpp"

#include "dispatch/graph/copy_kernels.hpp"

namespace flotilla::dispatch {

namespace {

/// Adds a kernel with one parameter, a struct of `bytes` bytes.
void add_builtin(kernel_table& table, char const* name, std::uint32_t bytes) {
  table.kernels.add([&](kernel_entry& entry) {
    entry.name = name;
    entry.parameters = {{.offset = 0, .bytes = bytes}};
    entry.infos.emplace_back().offset = 0;
    entry.argument_bytes = bytes;
    entry.twin.max_threads = copy_kernels::threads;
  });
}

}  // namespace

kernel_table::kernel_table() {
  // In the order of builtin_index.
  add_builtin(*this, "flotilla_copy", copy_kernels::copy_argument_bytes);
  add_builtin(*this, "flotilla_fill", copy_kernels::fill_argument_bytes);
}

}  // namespace flotilla::dispatch

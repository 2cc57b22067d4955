// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files in memory, without a name in any folder.

#include <cstddef>

namespace flotilla::base {

/// Makes an empty memfd that can be sealed and that no process can execute: where the sysctl
/// vm.memfd_noexec is 2, the kernel refuses every other memfd.
/// @return -1  The system refuses; see errno.
[[nodiscard]] int make_memory_file(char const* name) noexcept;
/// Sets the size of a file. A size above RLIMIT_FSIZE gives EFBIG, and not SIGXFSZ, which would end
/// the process.
/// @return false  The system refuses; see errno.
[[nodiscard]] bool set_file_size(int file, std::size_t bytes) noexcept;

}  // namespace flotilla::base

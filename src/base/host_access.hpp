// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shows AddressSanitizer the memory of the program that flotilla reads and writes.

#include <cstddef>

namespace flotilla::base {

/// Returns whether AddressSanitizer watches the memory of this process: the program was built with
/// it. flotilla itself need not be.
[[nodiscard]] bool has_address_sanitizer() noexcept;

/// Makes AddressSanitizer report a read or a write of this memory, if it knows that the memory must
/// not be used, for example because it was freed. A report ends the process. Does nothing without
/// AddressSanitizer. Threads: any.
void check_host_access(void const* address, std::size_t bytes, bool writes) noexcept;

}  // namespace flotilla::base

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Fuzzes the checks of kernel files before the driver loads them.

#include "dispatch/runtime/image_file.hpp"
#include "fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  flotilla::test::memory_file const file{bytes, size};
  static_cast<void>(flotilla::dispatch::why_truncated(file.path()));
  for (auto const kind : {flotilla::device_kind::cpu, flotilla::device_kind::gpu}) {
    static_cast<void>(flotilla::dispatch::why_no_code_for(kind, file.path()));
  }
  return 0;
}

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loaded programs and their kernels, by index.

#include <cuda.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/append_only.hpp"

namespace flotilla::dispatch {

struct parameter {
  std::uint32_t offset, bytes;
};

struct kernel_entry {
  std::string name;
  CUkernel handle = nullptr;
  std::vector<parameter> parameters;
  std::uint32_t argument_bytes = 0;
  std::vector<CUfunction> functions;  // by device index
};

struct program_entry {
  std::string name;
  CUlibrary library = nullptr;
  // Maps a kernel's name to its index in kernel_table::kernels.
  std::map<std::string, std::uint32_t, std::less<>> kernels;
};

/// Entries are never removed. Threads: any thread may read; only program_loader adds entries.
struct kernel_table {
  base::append_only<kernel_entry> kernels;
  base::append_only<program_entry, 16, 256> programs;
};

}  // namespace flotilla::dispatch

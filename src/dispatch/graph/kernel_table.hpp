// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loaded programs and their kernels, by index.

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <flotilla/detail/parameter_info.hpp>
#include <flotilla/kernel/untyped_kernel.hpp>

#include "base/append_only.hpp"

namespace flotilla::dispatch {

/// The twin of a kernel runs many launches of the kernel in one grid
/// (flotilla/detail/kernel_twin.hpp).
struct kernel_twin {
  std::vector<CUfunction> functions;  // by device index; empty if the kernel has no twin
  std::uint32_t max_threads = 0;      // per block; a twin may need more registers than the kernel
  // The ordered twin (flotilla/detail/ordered_twin.hpp), in the same way.
  std::vector<CUfunction> ordered;
  std::uint32_t max_threads_ordered = 0;
  std::uint32_t static_shared_bytes_ordered = 0;
};

struct kernel_entry {
  std::string name;
  std::vector<kernel_parameter> parameters;
  std::vector<detail::parameter_info> infos;  // for launches without types: only the offsets
  std::uint32_t argument_bytes = 0;
  std::vector<CUfunction> functions;  // by device index
  kernel_twin twin;
  // Whether the source of the kernel sets the size of clusters. The nodes of a template keep the
  // cluster size of their first kernel, so launches of such a kernel go alone.
  bool has_clusters = false;
  // By device index: the maximum number of bytes of dynamic shared memory, as last set; 0: not
  // known. Only the holder of the device's lease uses its element.
  std::unique_ptr<std::uint32_t[]> shared_limits;
  // By device index: the estimated duration of the kernel in nanoseconds; 0: not measured yet. The
  // holder of the device's lease writes its element, and threads that submit bulks read it.
  std::unique_ptr<std::atomic<float>[]> durations;
  // By device index: when the kernel was last launched, in nanoseconds of steady_clock, or 0. For
  // the report of a fault. Replays are not counted. The holder of the device's lease writes its
  // element. Null in built-in kernels.
  std::unique_ptr<std::atomic<std::int64_t>[]> launched;
};

struct program_entry {
  std::string name;
  // By device index. Devices with the same driver have the same library. Empty if the image is for
  // GPUs only and this is no GPU.
  std::vector<CUlibrary> libraries;
  std::vector<std::string> gpu_only;  // in this case: the names of the image's kernels
  // Maps a kernel's name to its index in kernel_table::kernels.
  std::map<std::string, std::uint32_t, std::less<>> kernels;
};

/// The first entries of every kernel_table: the kernels that copy and fill (copy_kernels.hpp).
namespace builtin_index {
inline constexpr std::uint32_t copy = 0;
inline constexpr std::uint32_t fill = 1;
inline constexpr std::uint32_t count = 2;
/// Returns whether a kernel copies or fills.
[[nodiscard]] constexpr bool contains(std::uint32_t kernel) noexcept { return kernel < count; }
}  // namespace builtin_index

/// Entries are never removed. Threads: any thread may read. After the runtime has started, only
/// program_loader adds entries.
struct kernel_table {
  /// Adds the built-in kernels. Each device adds its functions when the runtime starts
  /// (kernel_copies::create).
  kernel_table();

  base::append_only<kernel_entry> kernels;
  base::append_only<program_entry, 16, 256> programs;
};

}  // namespace flotilla::dispatch

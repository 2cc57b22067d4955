// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts settings of a context to the driver's flags, limits and preferences, and back.

#include <cuda.h>

#include <array>
#include <optional>
#include <string_view>

#include <flotilla/context/context_ref.hpp>
#include <flotilla/settings/settings.hpp>

namespace flotilla::context {

/// Returns the driver's bits for `flags`.
/// @throws invalid_argument  The flags contradict each other.
[[nodiscard]] unsigned bits_of(context_flags const& flags);
[[nodiscard]] context_flags flags_from(unsigned bits) noexcept;

/// Returns the driver's bits for all flags. A flag in `asked` has the requested value, and any
/// other flag has its value in `otherwise`.
[[nodiscard]] unsigned flags_of(device_settings const& asked, unsigned otherwise = 0) noexcept;
/// Sets all flags in `into` to their values in `flags`, which are the driver's bits.
void read_flags(unsigned flags, device_settings& into) noexcept;

/// A setting that is one of the driver's limits (cuCtxSetLimit).
struct limit_entry {
  CUlimit which;
  std::string_view name;
  std::optional<std::size_t> device_settings::*value;
};
inline constexpr std::array limit_table{
    limit_entry{CU_LIMIT_STACK_SIZE, "limits.stack", &device_settings::stack_bytes},
    limit_entry{CU_LIMIT_PRINTF_FIFO_SIZE, "limits.printf_fifo",
                &device_settings::printf_fifo_bytes},
    limit_entry{CU_LIMIT_MALLOC_HEAP_SIZE, "limits.malloc_heap",
                &device_settings::malloc_heap_bytes},
    limit_entry{CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, "limits.sync_depth", &device_settings::sync_depth},
    limit_entry{CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, "limits.pending_launches",
                &device_settings::pending_launches},
    limit_entry{CU_LIMIT_MAX_L2_FETCH_GRANULARITY, "limits.l2_fetch_granularity",
                &device_settings::l2_fetch_granularity},
    limit_entry{CU_LIMIT_PERSISTING_L2_CACHE_SIZE, "limits.persisting_l2",
                &device_settings::persisting_l2_bytes},
};

/// The names of the settings that are flags.
inline constexpr std::array<std::string_view, 6> flag_names{
    "schedule", "map_host", "lmem_resize_to_max", "coredump", "user_coredump", "sync_memops"};

// The enumerators of cache_preference and bank_size have the values of the driver's enumerators.
static_assert(static_cast<int>(cache_preference::none) == CU_FUNC_CACHE_PREFER_NONE);
static_assert(static_cast<int>(cache_preference::shared) == CU_FUNC_CACHE_PREFER_SHARED);
static_assert(static_cast<int>(cache_preference::l1) == CU_FUNC_CACHE_PREFER_L1);
static_assert(static_cast<int>(cache_preference::equal) == CU_FUNC_CACHE_PREFER_EQUAL);
static_assert(static_cast<int>(bank_size::standard) == CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE);
static_assert(static_cast<int>(bank_size::four) == CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
static_assert(static_cast<int>(bank_size::eight) == CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);

}  // namespace flotilla::context

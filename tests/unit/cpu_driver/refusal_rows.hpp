// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A macro for the rows of the refusal tables, and short names for statuses. Only the files with
// these tables include this file.
#include <vector>

#include "refusal_world.hpp"

// ROW(entry, (valid arguments), status without a current context,
//     status with a destroyed current context, (missing arguments), status with missing arguments)
#define ROW(entry, well, without, destroyed, nothing, of_nothing)                                         \
  refusal {                                                                                               \
#entry,                                                                                               \
        []([[maybe_unused]] world & w)                                                                    \
             -> CUresult { return cu::entry well; }, without, destroyed,                                  \
                                                  []([[maybe_unused]] world & w)                          \
                                                       -> CUresult { return cu::entry nothing; },         \
                                                                                               of_nothing \
  }

namespace flotilla::cpu_driver {

inline constexpr CUresult ok = CUDA_SUCCESS;
inline constexpr CUresult none = CUDA_ERROR_INVALID_CONTEXT;
inline constexpr CUresult gone = CUDA_ERROR_CONTEXT_IS_DESTROYED;
inline constexpr CUresult value = CUDA_ERROR_INVALID_VALUE;
inline constexpr CUresult handle = CUDA_ERROR_INVALID_HANDLE;
inline constexpr CUresult device_status = CUDA_ERROR_INVALID_DEVICE;
inline constexpr CUresult kind_status = CUDA_ERROR_INVALID_RESOURCE_TYPE;
inline constexpr CUresult affinity_status = CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
inline constexpr CUdevResourceType sm_type = CU_DEV_RESOURCE_TYPE_SM;
inline constexpr CUexecAffinityType sm_affinity = CU_EXEC_AFFINITY_TYPE_SM_COUNT;

[[nodiscard]] std::vector<refusal> refusals_of_devices_and_contexts();
[[nodiscard]] std::vector<refusal> refusals_of_streams_and_events();
[[nodiscard]] std::vector<refusal> refusals_of_memory();
[[nodiscard]] std::vector<refusal> refusals_of_code();

}  // namespace flotilla::cpu_driver

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for the settings of the current context: flags, limits, preferences.
#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/module/function_attributes.hpp"

namespace flotilla::cpu_driver {

FLOTILLA_CPU_API CUresult cuCtxGetFlags(unsigned* flags) {
  // The driver of an H200 checks this argument before the context.
  if (flags == nullptr) {
    return with_driver<when_poisoned::ignore>(__func__, [] { return CUDA_ERROR_INVALID_VALUE; });
  }
  return with_facts(__func__,
                    [&](destroyed_contexts::facts const& its) { return answer(flags, its.flags); });
}

FLOTILLA_CPU_API CUresult cuCtxSetFlags(unsigned flags) {
  return with_context<when_poisoned::ignore>(__func__, [&](context& current) {
    if (!context_flags::valid(flags)) { return CUDA_ERROR_INVALID_VALUE; }
    current.resources().flags.set(flags);
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuCtxGetLimit(size_t* value, CUlimit which) {
  return with_context(__func__, [&](context& current) {
    return value != nullptr ? current.resources().limits.get(raw_enum(which), *value)
                            : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuCtxSetLimit(CUlimit which, size_t value) {
  return with_context(__func__, [&](context& current) {
    if (limits::settled_by_kernels(raw_enum(which))) {
      // A kernel's first malloc or printf makes the limit final. Therefore wait for all launched
      // kernels before the limit is changed.
      current.synchronize();
      if (CUresult const status = fault::status()) { return status; }
    }
    return current.resources().limits.set(raw_enum(which), value,
                                          current.home().memory().capacity());
  });
}

FLOTILLA_CPU_API CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return with_context(__func__, [&](context& current) {
    return answer(config, current.cache_config.load(std::memory_order_relaxed));
  });
}

FLOTILLA_CPU_API CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return with_context(__func__, [&](context& current) {
    if (!known_cache_preference(raw_enum(config))) { return CUDA_ERROR_INVALID_VALUE; }
    current.cache_config.store(config, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return with_context(__func__, [&](context&) {
    return answer(
        config,
        CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);  // the value is fixed, as on current GPUs
  });
}

FLOTILLA_CPU_API CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  return with_context(__func__, [&](context&) {
    return known_bank_size(raw_enum(config)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return with_context(__func__, [&](context& current) {
    if (least != nullptr) { *least = stream::least_priority; }
    if (greatest != nullptr) { *greatest = greatest_priority(current.home().ordinal()); }
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuCtxResetPersistingL2Cache() {
  // A CPU device has no persisting L2 cache.
  return with_context(__func__, [](context&) { return CUDA_SUCCESS; });
}

}  // namespace flotilla::cpu_driver

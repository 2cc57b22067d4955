// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for initialisation, the version, names of errors, and addresses of entry points.
#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/api/resolver.hpp"
#include "cpu_driver/base/entry_names.hpp"
#include "cpu_driver/base/error_names.hpp"
#include "cpu_driver/context/driver_state.hpp"
#include "cpu_driver/fault/injection.hpp"
#include "cpu_driver/properties/device_properties.hpp"

namespace flotilla::cpu_driver {

FLOTILLA_CPU_API CUresult cuInit(unsigned flags) {
  if (flags != 0) { return CUDA_ERROR_INVALID_VALUE; }
  char const* const entry = __func__;
  return guarded([&] {
    if (injection::armed()) {
      if (CUresult const injected = injection::before(entry)) { return injected; }
    }
    return driver_state::get().initialise();
  });
}

FLOTILLA_CPU_API CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  *version = properties::driver_version;
  return CUDA_SUCCESS;
}

FLOTILLA_CPU_API CUresult cuGetErrorName(CUresult status, char const** name) {
  if (name == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  *name = error_name(status);
  return *name != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FLOTILLA_CPU_API CUresult cuGetErrorString(CUresult status, char const** text) {
  if (text == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  *text = error_description(status);
  return *text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

#ifdef FLOTILLA_CPU_DROPIN
void* find_exported(char const* name) noexcept;  // dropin.cpp
#endif

FLOTILLA_CPU_API CUresult cuGetProcAddress_v2(char const* name, void** address, int version,
                                              cuuint64_t flags,
                                              CUdriverProcAddressQueryResult* answer) {
  if (name == nullptr || address == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (flags & ~cuuint64_t{CU_GET_PROC_ADDRESS_LEGACY_STREAM}) { return CUDA_ERROR_NOT_SUPPORTED; }
  *address = resolve(name, version);
  bool const too_new = *address == nullptr && is_entry(name);
#ifdef FLOTILLA_CPU_DROPIN
  if (*address == nullptr && !too_new) { *address = find_exported(name); }
#endif
  if (answer != nullptr) {
    *answer = *address != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : too_new           ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return *address != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace flotilla::cpu_driver

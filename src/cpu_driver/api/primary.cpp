// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for primary contexts.
#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/context/driver_state.hpp"

namespace flotilla::cpu_driver {
namespace {

template <when_poisoned rule, class Body>
CUresult about_primary(char const* entry, CUdevice ordinal, Body&& body) noexcept {
  return with_driver<rule>(entry, [&] {
    device* const found = driver_state::get().find_device(ordinal);
    return found != nullptr ? body(found->primary_context()) : CUDA_ERROR_INVALID_DEVICE;
  });
}

}  // namespace

FLOTILLA_CPU_API CUresult cuDevicePrimaryCtxRetain(CUcontext* retained, CUdevice ordinal) {
  return about_primary<when_poisoned::refuse>(__func__, ordinal, [&](primary& asked) {
    if (retained == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return prohibits_contexts(ordinal) ? CUDA_ERROR_UNKNOWN : asked.retain(*retained);
  });
}

FLOTILLA_CPU_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  return about_primary<when_poisoned::act_and_report>(
      __func__, ordinal, [](primary& asked) { return asked.release(); });
}

FLOTILLA_CPU_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  return about_primary<when_poisoned::act_and_report>(__func__, ordinal,
                                                      [](primary& asked) { return asked.reset(); });
}

FLOTILLA_CPU_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
  return about_primary<when_poisoned::refuse>(
      __func__, ordinal, [&](primary& asked) { return asked.set_flags(flags); });
}

FLOTILLA_CPU_API CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags,
                                                     int* active) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    // The checks are in the same order as in the driver of an H200. The order matters if several
    // arguments are invalid.
    if (flags == nullptr || active == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    device* const found = driver_state::get().find_device(ordinal);
    if (found == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
    bool is_active = false;
    found->primary_context().state(*flags, is_active);
    *active = is_active ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

}  // namespace flotilla::cpu_driver

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Code that only the drop-in libcuda.so.1 contains: the symbol that identifies the drop-in,
// functions under older names such as cuCtxCreate, and a lookup of exported names. For every other
// name of the driver API, dropin_generate.cmake generates a function that returns
// CUDA_ERROR_NOT_SUPPORTED.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/control.hpp"

// <cuda.h> defines the older names as macros that expand to the newer names.
#undef cuCtxCreate
#undef cuCtxDestroy
#undef cuCtxPopCurrent
#undef cuCtxPushCurrent
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuDevicePrimaryCtxSetFlags
#undef cuEventDestroy
#undef cuGetProcAddress
#undef cuMemHostRegister
#undef cuStreamDestroy

/// A name that the toolkit's stub libcuda.so exports, and the drop-in's function of that name.
struct flotilla_dropin_symbol {
  char const* name;
  void (*address)();
};
extern "C" flotilla_dropin_symbol const flotilla_dropin_symbols[];
extern "C" std::size_t const flotilla_dropin_symbol_count;

namespace flotilla::cpu_driver {

FLOTILLA_CPU_API flotilla_cpu_driver_control const* flotilla_cpu_driver() { return &control(); }

FLOTILLA_CPU_API CUresult cuCtxDestroy(CUcontext handle) { return cuCtxDestroy_v2(handle); }
FLOTILLA_CPU_API CUresult cuCtxPopCurrent(CUcontext* popped) { return cuCtxPopCurrent_v2(popped); }
FLOTILLA_CPU_API CUresult cuCtxPushCurrent(CUcontext handle) { return cuCtxPushCurrent_v2(handle); }
FLOTILLA_CPU_API CUresult cuStreamDestroy(CUstream handle) { return cuStreamDestroy_v2(handle); }
FLOTILLA_CPU_API CUresult cuEventDestroy(CUevent handle) { return cuEventDestroy_v2(handle); }
FLOTILLA_CPU_API CUresult cuCtxCreate(CUcontext* made, unsigned flags, CUdevice ordinal) {
  return cuCtxCreate_v2(made, flags, ordinal);
}
FLOTILLA_CPU_API CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal) {
  return cuDevicePrimaryCtxRelease_v2(ordinal);
}
FLOTILLA_CPU_API CUresult cuDevicePrimaryCtxReset(CUdevice ordinal) {
  return cuDevicePrimaryCtxReset_v2(ordinal);
}
FLOTILLA_CPU_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
}
FLOTILLA_CPU_API CUresult cuMemHostRegister(void* address, size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(address, bytes, flags);
}
FLOTILLA_CPU_API CUresult cuGetProcAddress(char const* name, void** address, int version,
                                           cuuint64_t flags) {
  return cuGetProcAddress_v2(name, address, version, flags, nullptr);
}

/// Finds an exported function by its name, or returns null. cuGetProcAddress calls this for names
/// that are not in the lists of entry points.
void* find_exported(char const* name) noexcept {
  auto const* const end = flotilla_dropin_symbols + flotilla_dropin_symbol_count;
  auto const* const found = std::find_if(flotilla_dropin_symbols, end, [&](auto const& each) {
    return std::strcmp(each.name, name) == 0;
  });
  return found != end ? reinterpret_cast<void*>(found->address) : nullptr;
}

}  // namespace flotilla::cpu_driver

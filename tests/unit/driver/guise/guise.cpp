// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A libcuda.so.1 that poses as a GPU driver. It forwards every call to flotilla's drop-in, which is
// a libcuda.so.1 for CPU devices. But it does not export the symbol by which flotilla recognises
// the drop-in. Tests use it on machines without a GPU, as a driver that works or has a defect:
//
//   FLOTILLA_TEST_GUISE_INIT=status   cuInit returns this status
//   FLOTILLA_TEST_GUISE_HIDE=name     this entry point is missing

#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace {

void* hidden_behind(char const* symbol) {
  static void* const dropin = ::dlopen(FLOTILLA_TEST_DROPIN, RTLD_NOW | RTLD_LOCAL);
  return dropin != nullptr ? ::dlsym(dropin, symbol) : nullptr;
}

bool is_named_by(char const* variable, char const* name) {
  char const* const named = std::getenv(variable);
  return named != nullptr && std::strcmp(named, name) == 0;
}

}  // namespace

#undef cuGetProcAddress
#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED CUresult cuInit(unsigned flags) {
  if (char const* const answer = std::getenv("FLOTILLA_TEST_GUISE_INIT")) {
    return static_cast<CUresult>(std::atoi(answer));
  }
  auto const behind = reinterpret_cast<CUresult (*)(unsigned)>(hidden_behind("cuInit"));
  return behind != nullptr ? behind(flags) : CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
}

EXPORTED CUresult cuGetProcAddress_v2(char const* name, void** entry, int version, cuuint64_t flags,
                                      CUdriverProcAddressQueryResult* found) {
  *entry = nullptr;
  if (is_named_by("FLOTILLA_TEST_GUISE_HIDE", name)) { return CUDA_ERROR_NOT_FOUND; }
  using signature =
      CUresult (*)(char const*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  auto const behind = reinterpret_cast<signature>(hidden_behind("cuGetProcAddress_v2"));
  return behind != nullptr ? behind(name, entry, version, flags, found) : CUDA_ERROR_NOT_FOUND;
}

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "driver_calls.hpp"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace heat {

namespace {

template <class Function>
void take(void* library, Function& into, char const* name) {
  into = reinterpret_cast<Function>(dlsym(library, name));
  if (into == nullptr) { throw std::runtime_error(std::string{"the driver has no "} + name); }
}

// cuda.h defines names such as cuMemAlloc as macros for the newest version, cuMemAlloc_v2. The
// outer macro expands them.
#define HEAT_TEXT(name) #name
#define HEAT_TAKE(member, function) take(library, made.member, HEAT_TEXT(function))

driver_calls open() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) { throw std::runtime_error("libcuda.so.1 cannot be opened"); }
  driver_calls made;
  HEAT_TAKE(init, cuInit);
  HEAT_TAKE(get_device, cuDeviceGet);
  HEAT_TAKE(can_access_peer, cuDeviceCanAccessPeer);
  HEAT_TAKE(retain_context, cuDevicePrimaryCtxRetain);
  HEAT_TAKE(release_context, cuDevicePrimaryCtxRelease);
  HEAT_TAKE(push_context, cuCtxPushCurrent);
  HEAT_TAKE(pop_context, cuCtxPopCurrent);
  HEAT_TAKE(enable_peer_access, cuCtxEnablePeerAccess);
  HEAT_TAKE(load_library, cuLibraryLoadData);
  HEAT_TAKE(unload_library, cuLibraryUnload);
  HEAT_TAKE(get_kernel, cuLibraryGetKernel);
  HEAT_TAKE(get_function, cuKernelGetFunction);
  HEAT_TAKE(allocate, cuMemAlloc);
  HEAT_TAKE(free, cuMemFree);
  HEAT_TAKE(copy_to_device, cuMemcpyHtoD);
  HEAT_TAKE(copy_to_host, cuMemcpyDtoH);
  HEAT_TAKE(copy_to_peer, cuMemcpyPeerAsync);
  HEAT_TAKE(create_stream, cuStreamCreate);
  HEAT_TAKE(destroy_stream, cuStreamDestroy);
  HEAT_TAKE(synchronize, cuStreamSynchronize);
  HEAT_TAKE(wait, cuStreamWaitEvent);
  HEAT_TAKE(create_event, cuEventCreate);
  HEAT_TAKE(destroy_event, cuEventDestroy);
  HEAT_TAKE(record, cuEventRecord);
  HEAT_TAKE(launch, cuLaunchKernel);
  check(made.init(0), "cuInit");
  return made;
}

}  // namespace

driver_calls const& driver_calls::get() {
  static driver_calls const opened = open();
  return opened;
}

void check(CUresult status, char const* call) {
  if (status != CUDA_SUCCESS) {
    throw std::runtime_error(std::string{call} + " failed with status " +
                             std::to_string(static_cast<int>(status)));
  }
}

}  // namespace heat

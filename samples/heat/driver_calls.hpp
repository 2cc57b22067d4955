// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of the CUDA driver that the control "by hand" calls.

#include <cuda.h>

namespace heat {

struct driver_calls {
  decltype(&cuInit) init = nullptr;
  decltype(&cuDeviceGet) get_device = nullptr;
  decltype(&cuDeviceCanAccessPeer) can_access_peer = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain_context = nullptr;
  decltype(&cuDevicePrimaryCtxRelease) release_context = nullptr;
  decltype(&cuCtxPushCurrent) push_context = nullptr;
  decltype(&cuCtxPopCurrent) pop_context = nullptr;
  decltype(&cuCtxEnablePeerAccess) enable_peer_access = nullptr;
  decltype(&cuLibraryLoadData) load_library = nullptr;
  decltype(&cuLibraryUnload) unload_library = nullptr;
  decltype(&cuLibraryGetKernel) get_kernel = nullptr;
  decltype(&cuKernelGetFunction) get_function = nullptr;
  decltype(&cuMemAlloc) allocate = nullptr;
  decltype(&cuMemFree) free = nullptr;
  decltype(&cuMemcpyHtoD) copy_to_device = nullptr;
  decltype(&cuMemcpyDtoH) copy_to_host = nullptr;
  decltype(&cuMemcpyPeerAsync) copy_to_peer = nullptr;
  decltype(&cuStreamCreate) create_stream = nullptr;
  decltype(&cuStreamDestroy) destroy_stream = nullptr;
  decltype(&cuStreamSynchronize) synchronize = nullptr;
  decltype(&cuStreamWaitEvent) wait = nullptr;
  decltype(&cuEventCreate) create_event = nullptr;
  decltype(&cuEventDestroy) destroy_event = nullptr;
  decltype(&cuEventRecord) record = nullptr;
  decltype(&cuLaunchKernel) launch = nullptr;

  /// Opens the driver, when it is called for the first time.
  /// @throws std::runtime_error  There is no driver, or a function is missing.
  [[nodiscard]] static driver_calls const& get();
};

/// @throws std::runtime_error  The call failed. The message has its name and status.
void check(CUresult status, char const* call);

/// Makes a context current until the end of the block.
class current_context {
 public:
  explicit current_context(CUcontext context) {
    check(driver_calls::get().push_context(context), "cuCtxPushCurrent");
  }
  current_context(current_context const&) = delete;
  current_context& operator=(current_context const&) = delete;
  ~current_context() {
    CUcontext popped = nullptr;
    driver_calls::get().pop_context(&popped);
  }
};

}  // namespace heat

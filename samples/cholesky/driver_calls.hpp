// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of the CUDA driver that a program with primary contexts calls.

#include <cuda.h>

#include "cuda_api.hpp"
#include "shared_library.hpp"

namespace cholesky {

struct driver_calls {
  driver_calls() {
    shared_library const driver{"libcuda.so.1"};
    driver.take(init, "cuInit");
    driver.take(get_device, "cuDeviceGet");
    driver.take(can_access_peer, "cuDeviceCanAccessPeer");
    driver.take(retain_context, "cuDevicePrimaryCtxRetain");
    driver.take(release_context, "cuDevicePrimaryCtxRelease_v2");
    driver.take(set_current, "cuCtxSetCurrent");
    driver.take(synchronize, "cuCtxSynchronize");
    driver.take(enable_peer_access, "cuCtxEnablePeerAccess");
    driver.take(allocate, "cuMemAlloc_v2");
    driver.take(free, "cuMemFree_v2");
    driver.take(clear, "cuMemsetD8_v2");
    driver.take(copy_to_device, "cuMemcpyHtoD_v2");
    driver.take(copy_rectangle, "cuMemcpy2D_v2");
    check(init(0), "cuInit");
  }

  decltype(&cuInit) init = nullptr;
  decltype(&cuDeviceGet) get_device = nullptr;
  decltype(&cuDeviceCanAccessPeer) can_access_peer = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain_context = nullptr;
  decltype(&cuDevicePrimaryCtxRelease) release_context = nullptr;
  decltype(&cuCtxSetCurrent) set_current = nullptr;
  decltype(&cuCtxSynchronize) synchronize = nullptr;
  decltype(&cuCtxEnablePeerAccess) enable_peer_access = nullptr;
  decltype(&cuMemAlloc) allocate = nullptr;
  decltype(&cuMemFree) free = nullptr;
  decltype(&cuMemsetD8) clear = nullptr;
  decltype(&cuMemcpyHtoD) copy_to_device = nullptr;
  decltype(&cuMemcpy2D) copy_rectangle = nullptr;
};

/// @throws std::runtime_error  There is no driver, or a function is missing.
inline driver_calls const& driver() {
  static driver_calls const opened;
  return opened;
}

}  // namespace cholesky

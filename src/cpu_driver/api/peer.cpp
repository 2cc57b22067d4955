// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for peer access. All memory is host memory, so kernels can always access it. The
// driver only records which contexts have enabled peer access, and answers as a GPU would.
#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/api/peer_capability.hpp"
#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/context/driver_state.hpp"

namespace flotilla::cpu_driver {

FLOTILLA_CPU_API CUresult cuDeviceCanAccessPeer(int* can, CUdevice ordinal, CUdevice peer) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    if (driver_state::get().find_device(ordinal) == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
    if (can == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    if (driver_state::get().find_device(peer) == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
    *can = are_peers(ordinal, peer) ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute which,
                                                  CUdevice from, CUdevice to) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    if (driver_state::get().find_device(from) == nullptr ||
        driver_state::get().find_device(to) == nullptr || from == to) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    switch (raw_enum(which)) {
      case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
        return answer(value, 0);  // all pairs of devices have the same rank
      case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
        return answer(value, are_peers(from, to) ? 1 : 0);
      case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:  // CPU devices have no arrays
      case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED: return answer(value, 0);
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

FLOTILLA_CPU_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return with_context(__func__, [&](context& current) {
    if (flags != 0) { return CUDA_ERROR_INVALID_VALUE; }
    place other;
    if (peer == nullptr || !find_place(peer, other)) { return CUDA_ERROR_INVALID_CONTEXT; }
    // Two contexts of one device are not peers.
    if (!are_peers(current.home().ordinal(), other.whole->home().ordinal())) {
      return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    }
    return current.peers().enable(other.whole->id()) ? CUDA_SUCCESS
                                                     : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  });
}

FLOTILLA_CPU_API CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return with_context(__func__, [&](context& current) {
    place other;
    if (peer == nullptr || !find_place(peer, other)) { return CUDA_ERROR_INVALID_CONTEXT; }
    return current.peers().disable(other.whole->id()) ? CUDA_SUCCESS
                                                      : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  });
}

}  // namespace flotilla::cpu_driver

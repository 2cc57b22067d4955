// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for memory pools. Each device has one pool, its default pool.
#include <span>

#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/api/peer_capability.hpp"
#include "cpu_driver/base/raw_enum.hpp"

namespace flotilla::cpu_driver {
namespace {

CUresult pool_of_device(CUmemoryPool* found, CUdevice ordinal) noexcept {
  if (found == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  device* const home = driver_state::get().find_device(ordinal);
  if (home == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
  *found = home->pool().handle();
  return CUDA_SUCCESS;
}

/// Returns null if the handle names no pool.
memory_pool* find_pool(CUmemoryPool handle) noexcept {
  for (int ordinal = 0; ordinal < driver_state::get().device_count(); ++ordinal) {
    memory_pool& each = driver_state::get().find_device(ordinal)->pool();
    if (each.handle() == handle) { return &each; }
  }
  return nullptr;
}

bool is_device(CUmemLocation const& where) noexcept {
  return raw_enum(where.type) == CU_MEM_LOCATION_TYPE_DEVICE;
}

/// Returns the status with which cuMemPoolSetAccess must refuse the request, or CUDA_SUCCESS.
CUresult check_access(memory_pool const& pool, CUmemAccessDesc const& wanted) noexcept {
  int const flags = raw_enum(wanted.flags);
  bool const is_known = flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
                        flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
                        flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (!is_device(wanted.location) || !is_known) { return CUDA_ERROR_INVALID_VALUE; }
  int const from = wanted.location.id;
  if (driver_state::get().find_device(from) == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
  if (from == pool.home()) {
    // The access of the device to which the memory belongs cannot be changed.
    return flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  return flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || are_peers(from, pool.home())
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_DEVICE;
}

}  // namespace

FLOTILLA_CPU_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* found, CUdevice ordinal) {
  return with_driver(__func__, [&] { return pool_of_device(found, ordinal); });
}

FLOTILLA_CPU_API CUresult cuDeviceGetMemPool(CUmemoryPool* found, CUdevice ordinal) {
  return with_driver(__func__, [&] { return pool_of_device(found, ordinal); });
}

FLOTILLA_CPU_API CUresult cuMemPoolSetAccess(CUmemoryPool handle, CUmemAccessDesc const* wanted,
                                             size_t count) {
  return with_driver(__func__, [&] {
    memory_pool* const pool = find_pool(handle);
    if (pool == nullptr || wanted == nullptr || count == 0) { return CUDA_ERROR_INVALID_VALUE; }
    std::span<CUmemAccessDesc const> const all{wanted, count};
    for (CUmemAccessDesc const& each : all) {
      if (CUresult const status = check_access(*pool, each)) { return status; }
    }
    for (CUmemAccessDesc const& each : all) { pool->set_access(each.location.id, each.flags); }
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle,
                                             CUmemLocation* where) {
  return with_driver(__func__, [&] {
    memory_pool const* const pool = find_pool(handle);
    if (pool == nullptr || flags == nullptr || where == nullptr || !is_device(*where)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (driver_state::get().find_device(where->id) == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
    *flags = access_to(*pool, where->id);
    return CUDA_SUCCESS;
  });
}

}  // namespace flotilla::cpu_driver

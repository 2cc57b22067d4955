// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Memory pools, and the access of devices to them.
#include <string>

#include "transcript.hpp"

namespace transcript {

void pools() {
  CUmemoryPool pool = nullptr;
  CUmemoryPool current = nullptr;
  say("default pool", cuDeviceGetDefaultMemPool(&pool, 0));
  CUresult status = cuDeviceGetMemPool(&current, 0);
  say("the current pool is the default pool", status, text(current == pool ? 1 : 0));
  say("pool of device 99", cuDeviceGetDefaultMemPool(&current, 99));
  say("nowhere to put the pool", cuDeviceGetDefaultMemPool(nullptr, 0));
  CUmemAccessDesc wanted{};
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = 0;
  wanted.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUmemAccess_flags flags{};
  status = cuMemPoolGetAccess(&flags, pool, &wanted.location);
  say("access of its own device", status, text(static_cast<int>(flags)));
  say("give its own device access", cuMemPoolSetAccess(pool, &wanted, 1));
  wanted.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  say("take it from its own device", cuMemPoolSetAccess(pool, &wanted, 1));
  wanted.flags = static_cast<CUmemAccess_flags>(77);
  say("no such access", cuMemPoolSetAccess(pool, &wanted, 1));
  wanted.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  wanted.location.id = 99;
  say("give device 99 access", cuMemPoolSetAccess(pool, &wanted, 1));
  say("access of device 99", cuMemPoolGetAccess(&flags, pool, &wanted.location));
  CUcontext const a = floating();
  push(a);
  CUstream stream = nullptr;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  CUdeviceptr memory = 0;
  cuMemAllocAsync(&memory, 64, stream);
  CUmemoryPool found = nullptr;
  status = cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory);
  say("memory of the pool names it", status, text(found == pool ? 1 : 0));
  unsigned long long access = 9;
  status = cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, memory);
  say("access of the current context", status, text(static_cast<int>(access)));
  static_cast<void>(pop());
  cuCtxDestroy(a);
}

void pools_of_two_devices() {
  int devices = 0;
  cuDeviceGetCount(&devices);
  if (devices < 2) {
    note("this", "needs two devices");
    return;
  }
  CUcontext const a = floating(0);
  CUcontext const b = floating(1);
  push(b);
  CUstream stream = nullptr;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  CUdeviceptr there = 0;
  cuMemAllocAsync(&there, 64, stream);
  cuMemsetD8Async(there, 9, 64, stream);
  cuStreamSynchronize(stream);
  static_cast<void>(pop());
  push(a);
  CUmemoryPool pool = nullptr;
  cuDeviceGetDefaultMemPool(&pool, 1);
  CUmemAccessDesc wanted{};
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = 0;
  wanted.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUmemAccess_flags flags{};
  unsigned long long access = 9;
  auto const ask = [&](char const* when) {
    CUresult status = cuMemPoolGetAccess(&flags, pool, &wanted.location);
    say(std::string{when} + ": access to the pool", status, text(static_cast<int>(flags)));
    status = cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, there);
    say(std::string{when} + ": access to its memory", status, text(static_cast<int>(access)));
  };
  ask("at first");
  say("enable the context", cuCtxEnablePeerAccess(b, 0));
  ask("with the context enabled");
  say("open the pool", cuMemPoolSetAccess(pool, &wanted, 1));
  ask("with the pool open");
  static_cast<void>(read_by_kernel("a kernel reads the memory of the pool", there));
  wanted.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  say("close the pool", cuMemPoolSetAccess(pool, &wanted, 1));
  ask("with the pool closed");
  static_cast<void>(pop());
  cuCtxDestroy(b);
  cuCtxDestroy(a);
}

}  // namespace transcript

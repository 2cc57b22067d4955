// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Access between devices, and host memory that devices can access.
#include <cstring>

#include "transcript.hpp"

namespace transcript {
namespace {

int device_count() {
  int count = 0;
  cuDeviceGetCount(&count);
  return count;
}

void with_itself() {
  CUcontext const a = floating();
  CUcontext const sibling = floating();
  push(a);
  int can = 9;
  CUresult status = cuDeviceCanAccessPeer(&can, 0, 0);
  say("device 0 reaches itself", status, text(can));
  say("device 0 reaches 99", cuDeviceCanAccessPeer(&can, 0, 99));
  say("nowhere to say so", cuDeviceCanAccessPeer(nullptr, 0, 0));
  int value = 0;
  say("link of a device to itself",
      cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
  say("link to device 99",
      cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 99));
  say("enable itself", cuCtxEnablePeerAccess(a, 0));
  say("enable a sibling", cuCtxEnablePeerAccess(sibling, 0));
  say("enable a sibling with flags 1", cuCtxEnablePeerAccess(sibling, 1));
  say("enable none", cuCtxEnablePeerAccess(nullptr, 0));
  say("disable a sibling", cuCtxDisablePeerAccess(sibling));
  say("disable itself", cuCtxDisablePeerAccess(a));
  say("disable none", cuCtxDisablePeerAccess(nullptr));
  static_cast<void>(pop());
  say("with none current: enable", cuCtxEnablePeerAccess(a, 0));
  say("with none current: disable", cuCtxDisablePeerAccess(a));
  cuCtxDestroy(a);
  cuCtxDestroy(sibling);
}

}  // namespace

void peers() { with_itself(); }

void peers_of_two_devices() {
  if (device_count() < 2) {
    note("this", "needs two devices");
    return;
  }
  CUcontext const a = floating(0);
  CUcontext const b = floating(1);
  push(b);
  CUdeviceptr there = 0;
  cuMemAlloc(&there, 64);
  cuMemsetD8(there, 9, 64);
  static_cast<void>(pop());
  push(a);
  int value = 9;
  CUresult status = cuDeviceCanAccessPeer(&value, 0, 1);
  say("device 0 reaches 1", status, text(value));
  status = cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1);
  say("access over the link", status, text(value));
  status = cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 1);
  say("atomics over the link", status, text(value));
  say("no such fact of the link",
      cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(99), 0, 1));
  say("nowhere to put the fact",
      cuDeviceGetP2PAttribute(nullptr, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
  say("disable before enabling", cuCtxDisablePeerAccess(b));
  say("enable with flags 1", cuCtxEnablePeerAccess(b, 1));
  say("enable", cuCtxEnablePeerAccess(b, 0));
  say("enable again", cuCtxEnablePeerAccess(b, 0));
  CUdeviceptr const sum = read_by_kernel("a kernel reads the other device's memory", there);
  say("copy from peer", cuMemcpyPeer(sum, a, there, b, 4));
  say("copy from peer, no context named", cuMemcpyPeer(sum, nullptr, there, b, 4));
  static_cast<void>(pop());
  push(b);
  say("the other way is not enabled", cuCtxDisablePeerAccess(a));
  static_cast<void>(pop());
  push(a);
  say("disable", cuCtxDisablePeerAccess(b));
  say("disable again", cuCtxDisablePeerAccess(b));
  say("enable once more", cuCtxEnablePeerAccess(b, 0));
  say("destroy the peer", cuCtxDestroy(b));
  static_cast<void>(pop());
  cuCtxDestroy(a);
}

void host_memory() {
  void* memory = nullptr;
  say("with none current: allocate", cuMemHostAlloc(&memory, 64, 0));
  CUcontext const a = floating();
  push(a);
  unsigned flags = 99;
  CUresult status = CUDA_SUCCESS;
  for (unsigned const wish : {0u, 1u, 2u, 3u, 4u, 7u, 8u, 0x100u}) {
    memory = nullptr;
    status = cuMemHostAlloc(&memory, 64, wish);
    say("allocate with flags " + text(wish), status);
    if (status != CUDA_SUCCESS) { continue; }
    status = cuMemHostGetFlags(&flags, memory);
    say("its flags", status, status ? "" : text(flags));
    CUdeviceptr address = 0;
    status = cuMemHostGetDevicePointer(&address, memory, 0);
    say("its device address", status,
        address == reinterpret_cast<CUdeviceptr>(memory) ? "the same" : "another");
    cuMemFreeHost(memory);
  }
  say("allocate nothing", cuMemHostAlloc(&memory, 0, 0));
  say("nowhere to put it", cuMemHostAlloc(nullptr, 64, 0));

  cuMemHostAlloc(&memory, 2 * sizeof(int), CU_MEMHOSTALLOC_DEVICEMAP);
  auto* const words = static_cast<int*>(memory);
  words[0] = words[1] = 0;
  CUmodule const kernels = load_kernels();
  launch(find(kernels, "store"), nullptr, static_cast<void*>(words + 1), 17);
  say("a kernel stores into it", cuCtxSynchronize());
  note("what it stored", text(words[1]));
  CUdeviceptr inside = 0;
  status = cuMemHostGetDevicePointer(&inside, words + 1, 0);
  say("device address of its inside", status,
      inside == reinterpret_cast<CUdeviceptr>(words + 1) ? "the same" : "another");
  say("flags of its inside", cuMemHostGetFlags(&flags, words + 1));
  say("device address with flags 1", cuMemHostGetDevicePointer(&inside, memory, 1));
  say("device address, nowhere to put it", cuMemHostGetDevicePointer(nullptr, memory, 0));
  say("device address of none", cuMemHostGetDevicePointer(&inside, nullptr, 0));
  say("flags, nowhere to put them", cuMemHostGetFlags(nullptr, memory));
  say("flags of none", cuMemHostGetFlags(&flags, nullptr));
  alignas(4096) static char ordinary[8192];
  say("flags of ordinary memory", cuMemHostGetFlags(&flags, ordinary));
  say("device address of ordinary memory", cuMemHostGetDevicePointer(&inside, ordinary, 0));
  say("free ordinary memory", cuMemFreeHost(ordinary));
  say("free none", cuMemFreeHost(nullptr));
  say("free its inside", cuMemFreeHost(words + 1));
  say("free it as a device's", cuMemFree(reinterpret_cast<CUdeviceptr>(memory)));

  for (unsigned const wish : {0u, 2u, 0x100u}) {
    status = cuMemHostRegister(ordinary, 4096, wish);
    say("register with flags " + text(wish), status);
    if (status != CUDA_SUCCESS) { continue; }
    status = cuMemHostGetFlags(&flags, ordinary);
    say("its flags", status, status ? "" : text(flags));
    say("register again", cuMemHostRegister(ordinary, 4096, wish));
    status = cuMemHostGetDevicePointer(&inside, ordinary, 0);
    say("its device address", status,
        inside == reinterpret_cast<CUdeviceptr>(ordinary) ? "the same" : "another");
    say("free it", cuMemFreeHost(ordinary));
    say("unregister", cuMemHostUnregister(ordinary));
  }
  say("unregister again", cuMemHostUnregister(ordinary));
  say("unregister none", cuMemHostUnregister(nullptr));
  say("register none", cuMemHostRegister(nullptr, 4096, 0));
  say("register nothing", cuMemHostRegister(ordinary, 0, 0));

  CUcontext owner = nullptr;
  CUmemorytype kind{};
  int ordinal = -1;
  CUdeviceptr start = 0;
  size_t bytes = 0;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                 CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* answers[] = {&owner, &kind, &ordinal, &start, &bytes};
  auto const facts = [&](char const* what, CUdeviceptr address, CUdeviceptr base) {
    CUresult const answer = cuPointerGetAttributes(5, asked, answers, address);
    say(what, answer,
        name_of(owner, {{"A", a}}) + " kind " + text(kind) + " device " + text(ordinal) +
            " start " +
            (start == 0      ? "none"
             : start == base ? "its"
                             : "another") +
            " bytes " + text(static_cast<long long>(bytes)));
  };
  auto const at = reinterpret_cast<CUdeviceptr>(memory);
  facts("facts of host memory", at + 1, at);
  CUdeviceptr on_device = 0;
  cuMemAlloc(&on_device, 100);
  facts("facts of device memory", on_device + 1, on_device);
  facts("facts of ordinary memory", reinterpret_cast<CUdeviceptr>(ordinary), 0);
  facts("facts of none", 0, 0);
  say("no facts asked", cuPointerGetAttributes(0, asked, answers, at));
  say("facts, nowhere to put them", cuPointerGetAttributes(5, asked, nullptr, at));
  say("facts of no kind", cuPointerGetAttributes(5, nullptr, answers, at));
  say("one fact of ordinary memory",
      cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                            reinterpret_cast<CUdeviceptr>(ordinary)));
  static_cast<void>(pop());
  say("with none current: flags", cuMemHostGetFlags(&flags, memory));
  say("with none current: device address", cuMemHostGetDevicePointer(&inside, memory, 0));
  say("with none current: facts", cuPointerGetAttributes(5, asked, answers, at));
  say("with none current: free", cuMemFreeHost(memory));
  cuCtxDestroy(a);
}

}  // namespace transcript

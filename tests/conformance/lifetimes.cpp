// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Usage counts and primary contexts: how long a context lives.
#include "transcript.hpp"

namespace transcript {

void usage_counts() {
  CUcontext attached = nullptr;
  say("attach with none current", cuCtxAttach(&attached, 0));
  say("detach none", cuCtxDetach(nullptr));
  CUcontext made = nullptr;
  cuCtxCreate(&made, nullptr, 0, 0);
  auto const who = [&](CUcontext which) { return name_of(which, {{"it", made}}); };
  say("attach with flags 1", cuCtxAttach(&attached, 1));
  say("attach, nowhere to put it", cuCtxAttach(nullptr, 0));
  CUresult status = cuCtxAttach(&attached, 0);
  say("attach", status, who(attached));
  say("detach", cuCtxDetach(made));
  note("current", who(current()));
  CUdeviceptr memory = 0;
  say("allocate", cuMemAlloc(&memory, 4));
  CUcontext const other = floating();
  say("detach one that is not current", cuCtxDetach(other));
  say("detach none", cuCtxDetach(nullptr));
  note("current", who(current()));
  say("detach for the last time", cuCtxDetach(made));
  note("current", name_of(current(), {{"other", other}}));

  push(other);
  cuCtxAttach(&attached, 0);
  say("destroy one that is attached to", cuCtxDestroy(other));
  note("current", name_of(current(), {{"other", other}}));
}

void destroyed_while_attached() {
  CUcontext attached = nullptr;
  CUcontext const doomed = floating();
  push(doomed);
  say("attach", cuCtxAttach(&attached, 0));
  elsewhere([&] { say("another thread destroys it", cuCtxDestroy(doomed)); });
  CUdeviceptr memory = 0;
  say("allocate in it", cuMemAlloc(&memory, 4));
}

namespace {

void say_state(char const* what) {
  unsigned flags = 99;
  int active = 99;
  CUresult const status = cuDevicePrimaryCtxGetState(0, &flags, &active);
  say(what, status, "flags " + text(flags) + " active " + text(active));
}

}  // namespace

void primary_contexts() {
  say("release what nobody retained", cuDevicePrimaryCtxRelease(0));
  say("reset what nobody retained", cuDevicePrimaryCtxReset(0));
  CUcontext first = nullptr;
  CUcontext second = nullptr;
  say("retain, nowhere to put it", cuDevicePrimaryCtxRetain(nullptr, 0));
  say("retain on device 99", cuDevicePrimaryCtxRetain(&first, 99));
  say("state of device 99", cuDevicePrimaryCtxGetState(99, nullptr, nullptr));
  for (unsigned const flags : {1u, 3u, 8u, 16u, 0x100u}) {
    CUresult const status = cuDevicePrimaryCtxSetFlags(0, flags);
    say("flags to " + text(flags), status);
  }
  say_state("state while inactive");
  say("retain", cuDevicePrimaryCtxRetain(&first, 0));
  say_state("state");
  say("flags to 2 while active", cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
  say_state("state");
  push(first);
  unsigned flags = 99;
  CUresult status = cuCtxGetFlags(&flags);
  say("flags of the context", status, text(flags));
  say("change them to 4", cuCtxSetFlags(CU_CTX_SCHED_BLOCKING_SYNC));
  say_state("state");
  unsigned version = 0;
  status = cuCtxGetApiVersion(first, &version);
  say("its API version", status, text(version));
  CUcontext attached = nullptr;
  say("attach to it", cuCtxAttach(&attached, 0));
  say("detach from it", cuCtxDetach(first));
  say("destroy it", cuCtxDestroy(first));
  note("it is current", yes(current() == first));
  CUdeviceptr memory = 0;
  say("allocate in it", cuMemAlloc(&memory, 1 << 20));
  say("retain again", cuDevicePrimaryCtxRetain(&second, 0));
  note("it is the same", yes(first == second));
  say("release", cuDevicePrimaryCtxRelease(0));
  say("its memory", cuMemsetD8(memory, 1, 1 << 20));
  say("release for the last time", cuDevicePrimaryCtxRelease(0));
  note("it is current", yes(current() == first));
  say("allocate in it", cuMemAlloc(&memory, 4));
  say_state("state");
  say("retain once more", cuDevicePrimaryCtxRetain(&second, 0));
  note("it has the handle of the one before", yes(first == second));
  note("it is current", yes(current() == second));
  say("allocate in what is current", cuMemAlloc(&memory, 4));
  cuCtxSetCurrent(second);
  say("allocate in it", cuMemAlloc(&memory, 1 << 20));
  say("reset", cuDevicePrimaryCtxReset(0));
  say_state("state");
  note("it is current", yes(current() == second));
  say("allocate in it", cuMemAlloc(&memory, 4));
  say("release after the reset", cuDevicePrimaryCtxRelease(0));
  say("release once too often", cuDevicePrimaryCtxRelease(0));
  say_state("state");
}

void released_primary() {
  CUcontext primary = nullptr;
  say("retain", cuDevicePrimaryCtxRetain(&primary, 0));
  say("release for the last time", cuDevicePrimaryCtxRelease(0));
  say("push it", cuCtxPushCurrent(primary));
  note("it is current", yes(current() == primary));
  CUdeviceptr memory = 0;
  say("allocate in it", cuMemAlloc(&memory, 4));
  say("set it current", cuCtxSetCurrent(primary));
  say("allocate in it", cuMemAlloc(&memory, 4));
  CUdevice device = -1;
  CUresult status = cuCtxGetDevice(&device);
  say("its device", status, text(device));
  say("retain once more", cuDevicePrimaryCtxRetain(&primary, 0));
  say("allocate in it", cuMemAlloc(&memory, 4));
  CUcontext popped = nullptr;
  status = cuCtxPopCurrent(&popped);
  say("pop", status, yes(popped == primary));
}

void pool_memory_of_the_destroyed() {
  CUcontext const witness = floating();
  CUcontext const owner = floating();
  push(owner);
  CUstream stream = nullptr;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  CUdeviceptr memory = 0;
  say("allocate from the device's pool", cuMemAllocAsync(&memory, 1 << 20, stream));
  say("fill it", cuMemsetD8Async(memory, 7, 1 << 20, stream));
  say("wait for the stream", cuStreamSynchronize(stream));
  auto const who = [&](CUcontext which) {
    return name_of(which, {{"owner", owner}, {"witness", witness}});
  };
  CUcontext found = nullptr;
  CUresult status = cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, memory);
  say("whose it is", status, who(found));
  pop();
  say("destroy the owner", cuCtxDestroy(owner));
  push(witness);
  found = nullptr;
  status = cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, memory);
  say("whose it is now", status, found == nullptr ? "none" : who(found));
  unsigned char byte = 0;
  status = cuMemcpyDtoH(&byte, memory, 1);
  say("copy from it", status, text(byte));
  say("free it", cuMemFree(memory));
}

}  // namespace transcript

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Context stacks and memory after the destruction of a context.
//
// If a context is destroyed while it is current on a thread, later calls of that thread can make an
// H200's driver read freed memory and crash. Therefore each such call has its own section, which
// runs in its own process.
#include "transcript.hpp"

namespace transcript {
namespace {

/// Returns a destroyed context that is current on this thread. Another thread destroys the context,
/// because the driver would pop the context if this thread destroyed it.
CUcontext destroyed_current() {
  CUcontext const doomed = floating();
  push(doomed);
  elsewhere([&] { say("another thread destroys what is current here", cuCtxDestroy(doomed)); });
  return doomed;
}

}  // namespace

void destruction() {
  say("destroy none", cuCtxDestroy(nullptr));
  CUcontext const doomed = destroyed_current();
  CUcontext found = nullptr;
  CUresult const status = cuCtxGetCurrent(&found);
  say("current", status, name_of(found, {{"the destroyed", doomed}}));
  CUdevice device = -1;
  unsigned flags = 0;
  say("its device", cuCtxGetDevice(&device));
  say("its flags", cuCtxGetFlags(&flags));
}

void destroyed_facts() {
  CUcontext const doomed = floating(0, CU_CTX_SCHED_YIELD | CU_CTX_LMEM_RESIZE_TO_MAX);
  push(doomed);
  elsewhere([&] { say("another thread destroys what is current here", cuCtxDestroy(doomed)); });
  CUdevice device = -1;
  unsigned flags = 0;
  CUresult status = cuCtxGetDevice(&device);
  say("its device", status, text(device));
  status = cuCtxGetFlags(&flags);
  say("its flags", status, text(flags));
}

void destroyed_set_flags() {
  static_cast<void>(destroyed_current());
  say("set its flags", cuCtxSetFlags(0));
}

void destroyed_limit() {
  static_cast<void>(destroyed_current());
  size_t value = 0;
  say("its stack limit", cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
}

void destroyed_set_limit() {
  static_cast<void>(destroyed_current());
  say("set its stack limit", cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
}

void destroyed_cache() {
  static_cast<void>(destroyed_current());
  CUfunc_cache cache{};
  say("its cache preference", cuCtxGetCacheConfig(&cache));
}

void destroyed_priorities() {
  static_cast<void>(destroyed_current());
  int least = 0;
  int greatest = 0;
  say("its priorities", cuCtxGetStreamPriorityRange(&least, &greatest));
}

void destroyed_synchronise() {
  static_cast<void>(destroyed_current());
  say("synchronise it", cuCtxSynchronize());
}

void destroyed_allocate() {
  static_cast<void>(destroyed_current());
  CUdeviceptr memory = 0;
  say("allocate in it", cuMemAlloc(&memory, 4));
}

void destroyed_stream() {
  static_cast<void>(destroyed_current());
  CUstream stream = nullptr;
  say("a stream in it", cuStreamCreate(&stream, 0));
}

void destroyed_event() {
  static_cast<void>(destroyed_current());
  CUevent event = nullptr;
  say("an event in it", cuEventCreate(&event, 0));
}

void over_a_destroyed_context() {
  CUcontext const doomed = destroyed_current();
  CUcontext next = nullptr;
  CUdeviceptr memory = 0;
  say("create one over it", cuCtxCreate(&next, nullptr, 0, 0));
  say("allocate", cuMemAlloc(&memory, 4));
  say("destroy that one", cuCtxDestroy(next));
  CUcontext found = nullptr;
  CUresult const status = cuCtxPopCurrent(&found);
  say("pop", status, name_of(found, {{"the destroyed", doomed}}));
  say("pop again", cuCtxPopCurrent(&found));
}

void a_destroyed_context_below() {
  CUcontext const lower = floating();
  CUcontext const upper = floating();
  push(lower);
  push(upper);
  say("destroy the lower of two", cuCtxDestroy(lower));
  auto const who = [&](CUcontext which) {
    return name_of(which, {{"lower", lower}, {"upper", upper}});
  };
  note("current", who(current()));
  CUdeviceptr memory = 0;
  say("allocate", cuMemAlloc(&memory, 4));
  say("destroy the upper", cuCtxDestroy(upper));
  CUcontext found = nullptr;
  CUresult status = cuCtxGetCurrent(&found);
  say("current", status, who(found));
  say("allocate", cuMemAlloc(&memory, 4));
  say("set current none", cuCtxSetCurrent(nullptr));
  status = cuCtxGetCurrent(&found);
  say("current", status, who(found));
}

void a_destroyed_context_twice() {
  CUcontext const twice = floating();
  push(twice);
  push(twice);
  say("destroy what is current twice", cuCtxDestroy(twice));
  CUcontext found = nullptr;
  CUresult status = cuCtxGetCurrent(&found);
  say("current", status, name_of(found, {{"it", twice}}));
  CUdeviceptr memory = 0;
  say("allocate", cuMemAlloc(&memory, 4));
  status = cuCtxPopCurrent(&found);
  say("pop", status, name_of(found, {{"it", twice}}));
}

void memory_of_the_destroyed() {
  CUcontext const owner = floating();
  CUcontext const other = floating();
  push(owner);
  CUdeviceptr memory = 0;
  CUdeviceptr source = 0;
  cuMemAlloc(&memory, 1 << 20);
  static_cast<void>(pop());
  push(other);
  cuMemAlloc(&source, 1 << 20);
  CUstream stream = nullptr;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  say("destroy a context that is not current", cuCtxDestroy(owner));
  CUcontext of = nullptr;
  say("whose its memory is now", cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
  say("copy from its memory", cuMemcpyDtoD(source, memory, 1 << 20));
  say("free its memory", cuMemFree(memory));
  say("the other one still works", cuMemsetD8(source, 1, 1 << 20));
  say("its streams, too", cuStreamSynchronize(stream));
  say("destroy it", cuCtxDestroy(other));
}

}  // namespace transcript

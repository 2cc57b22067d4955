// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Objects of one context that are used in another context, and one module that is loaded into two
// contexts.
#include "transcript.hpp"

namespace transcript {
namespace {

struct belongings {
  CUcontext owner = floating();
  CUmodule kernels = nullptr;
  CUfunction nothing = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;

  belongings() {
    push(owner);
    kernels = load_kernels();
    nothing = find(kernels, "null_kernel");
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuEventCreate(&event, 0);
    cuMemAlloc(&memory, 64);
    static_cast<void>(pop());
  }
};

}  // namespace

void foreign_handles() {
  belongings const a;
  belongings const b;
  push(b.owner);
  auto const who = [&](CUcontext which) {
    return name_of(which, {{"A", a.owner}, {"B", b.owner}});
  };
  say("A's kernel in B's NULL stream", launch(a.nothing, nullptr));
  say("A's kernel in B's stream", launch(a.nothing, b.stream));
  say("A's kernel in A's stream, B current", launch(a.nothing, a.stream));
  say("B's kernel in A's stream", launch(b.nothing, a.stream));
  say("A's event in B's NULL stream", cuEventRecord(a.event, nullptr));
  say("A's event in B's stream", cuEventRecord(a.event, b.stream));
  say("A's event in A's stream, B current", cuEventRecord(a.event, a.stream));
  say("B's stream waits for A's event", cuStreamWaitEvent(b.stream, a.event, 0));
  say("B's NULL stream waits for A's event", cuStreamWaitEvent(nullptr, a.event, 0));
  say("wait for A's event", cuEventSynchronize(a.event));
  say("ask A's event", cuEventQuery(a.event));
  say("wait for A's stream", cuStreamSynchronize(a.stream));
  cuEventRecord(b.event, b.stream);
  cuEventSynchronize(b.event);
  float milliseconds = 0;
  say("from A's event to B's", cuEventElapsedTime(&milliseconds, a.event, b.event));
  CUcontext found = nullptr;
  CUresult status = cuStreamGetCtx(a.stream, &found);
  say("whose A's stream is", status, who(found));
  status = cuStreamGetCtx(nullptr, &found);
  say("whose the NULL stream is", status, who(found));
  int priority = 1;
  status = cuStreamGetPriority(a.stream, &priority);
  say("A's stream's priority", status, text(priority));
  say("fill A's memory in B's stream", cuMemsetD8Async(a.memory, 3, 64, b.stream));
  say("copy A's memory to B's in B's stream", cuMemcpyDtoDAsync(b.memory, a.memory, 64, b.stream));
  cuStreamSynchronize(b.stream);
  say("copy B's memory to A's in A's stream", cuMemcpyDtoDAsync(a.memory, b.memory, 64, a.stream));
  cuStreamSynchronize(a.stream);
  unsigned char value = 0;
  status = cuMemcpyDtoH(&value, b.memory, 1);
  say("what arrived", status, text(value));
  CUfunction function = nullptr;
  say("A's module, B current", cuModuleGetFunction(&function, a.kernels, "store"));
  CUdeviceptr variable = 0;
  size_t bytes = 0;
  status = cuModuleGetGlobal(&variable, &bytes, a.kernels, "travelling_global");
  say("a variable of A's module, B current", status, text(static_cast<long long>(bytes)));
  status = cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, variable);
  say("whose the variable is", status, who(found));
  say("a variable that is not there", cuModuleGetGlobal(&variable, &bytes, a.kernels, "nowhere"));
  say("free A's memory, B current", cuMemFree(a.memory));
  say("free it again", cuMemFree(a.memory));
  say("destroy A's event, B current", cuEventDestroy(a.event));
  say("destroy A's stream, B current", cuStreamDestroy(a.stream));
  say("unload A's module, B current", cuModuleUnload(a.kernels));
  static_cast<void>(pop());

  say("with none current: B's kernel in B's stream", launch(b.nothing, b.stream));
  say("with none current: record B's event", cuEventRecord(b.event, b.stream));
  say("with none current: B's stream waits", cuStreamWaitEvent(b.stream, b.event, 0));
  say("with none current: fill", cuMemsetD8Async(b.memory, 1, 64, b.stream));
  say("with none current: wait for B's stream", cuStreamSynchronize(b.stream));
  say("with none current: free B's memory", cuMemFree(b.memory));
  say("with none current: a kernel of B's module",
      cuModuleGetFunction(&function, b.kernels, "store"));
  say("with none current: unload B's module", cuModuleUnload(b.kernels));
  say("with none current: destroy B's event", cuEventDestroy(b.event));
  say("with none current: destroy B's stream", cuStreamDestroy(b.stream));
  say("destroy A", cuCtxDestroy(a.owner));
  say("destroy B", cuCtxDestroy(b.owner));
}

void modules_of_two_contexts() {
  struct side {
    CUcontext owner;
    CUmodule kernels;
    CUdeviceptr to;
  } sides[2];
  int next = 100;
  for (side& each : sides) {
    each.owner = floating();
    push(each.owner);
    each.kernels = load_kernels();
    cuMemAlloc(&each.to, sizeof(int));
    static_cast<void>(pop());
  }
  for (side& each : sides) {
    push(each.owner);
    say("write " + text(next), launch(find(each.kernels, "write_global"), nullptr, next));
    ++next;
    static_cast<void>(pop());
  }
  for (side& each : sides) {
    elsewhere([&] {
      push(each.owner);
      launch(find(each.kernels, "read_global"), nullptr, each.to);
      int value = 0;
      CUresult const status = cuMemcpyDtoH(&value, each.to, sizeof value);
      say("read on another thread", status, text(value));
      static_cast<void>(pop());
    });
  }
  push(sides[0].owner);
  CUmodule const again = load_kernels();
  note("a second load is another module", yes(again != sides[0].kernels));
  launch(find(again, "read_global"), nullptr, sides[0].to);
  int value = 0;
  CUresult status = cuMemcpyDtoH(&value, sides[0].to, sizeof value);
  say("and has a variable of its own", status, text(value));
  CUdeviceptr variable = 0;
  size_t bytes = 0;
  cuModuleGetGlobal(&variable, &bytes, again, "travelling_global");
  say("write the variable by a copy", cuMemsetD32(variable, 55, 1));
  launch(find(again, "read_global"), nullptr, sides[0].to);
  status = cuMemcpyDtoH(&value, sides[0].to, sizeof value);
  say("a kernel reads", status, text(value));
  note("a kernel has one handle in a module", yes(find(again, "store") == find(again, "store")));
  note("and another in another", yes(find(again, "store") != find(sides[0].kernels, "store")));
  say("unload the second", cuModuleUnload(again));
  static_cast<void>(pop());
  for (side& each : sides) { cuCtxDestroy(each.owner); }
}

void events_of_contexts() {
  belongings const a;
  belongings const b;
  push(a.owner);
  say("record A in A's event", cuCtxRecordEvent(a.owner, a.event));
  say("record the current context in A's event", cuCtxRecordEvent(nullptr, a.event));
  say("wait for the event", cuEventSynchronize(a.event));
  say("record A in B's event", cuCtxRecordEvent(a.owner, b.event));
  say("record A in no event", cuCtxRecordEvent(a.owner, nullptr));
  say("A waits for B's event", cuCtxWaitEvent(a.owner, b.event));
  say("A waits for its own", cuCtxWaitEvent(a.owner, a.event));
  say("A waits for no event", cuCtxWaitEvent(a.owner, nullptr));
  say("work after it", cuMemsetD8Async(a.memory, 1, 64, a.stream));
  say("synchronise A", cuCtxSynchronize_v2(a.owner));
  say("synchronise B, A current", cuCtxSynchronize_v2(b.owner));
  say("synchronise the current one", cuCtxSynchronize_v2(nullptr));
  CUdevice device = -1;
  CUresult status = cuCtxGetDevice_v2(&device, b.owner);
  say("B's device, A current", status, text(device));
  status = cuCtxGetDevice_v2(&device, nullptr);
  say("the current one's device", status, text(device));
  static_cast<void>(pop());
  say("with none current: synchronise A", cuCtxSynchronize_v2(a.owner));
  say("with none current: synchronise the current one", cuCtxSynchronize_v2(nullptr));
  status = cuCtxGetDevice_v2(&device, a.owner);
  say("with none current: A's device", status, text(device));
  say("with none current: the current one's device", cuCtxGetDevice_v2(&device, nullptr));
  say("with none current: record A", cuCtxRecordEvent(a.owner, a.event));
  say("with none current: A waits", cuCtxWaitEvent(a.owner, a.event));
  cuCtxDestroy(a.owner);
  cuCtxDestroy(b.owner);
}

}  // namespace transcript

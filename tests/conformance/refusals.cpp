// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Calls with null arguments, calls without a context, and calls after a fault.
#include "transcript.hpp"

namespace transcript {

void null_arguments() {
  CUcontext const a = floating();
  push(a);
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  CUfunction function = nullptr;
  CUmodule const kernels = load_kernels();
  cuMemAlloc(&memory, 64);
  say("allocate, nowhere to put it", cuMemAlloc(nullptr, 64));
  say("allocate nothing", cuMemAlloc(&memory, 0));
  say("free none", cuMemFree(0));
  say("free what is no address", cuMemFree(12345));
  say("a stream, nowhere to put it", cuStreamCreate(nullptr, 0));
  say("a stream with flags 2", cuStreamCreate(&stream, 2));
  say("a stream by priority, nowhere to put it", cuStreamCreateWithPriority(nullptr, 0, 0));
  say("destroy no stream", cuStreamDestroy(nullptr));
  say("destroy the legacy stream", cuStreamDestroy(CU_STREAM_LEGACY));
  say("an event, nowhere to put it", cuEventCreate(nullptr, 0));
  CUevent event = nullptr;
  say("an event with flags 0x10", cuEventCreate(&event, 0x10));
  say("an event of processes that keeps time", cuEventCreate(&event, CU_EVENT_INTERPROCESS));
  say("destroy no event", cuEventDestroy(nullptr));
  say("record no event", cuEventRecord(nullptr, nullptr));
  say("ask no event", cuEventQuery(nullptr));
  say("wait for no event", cuEventSynchronize(nullptr));
  say("the NULL stream waits for no event", cuStreamWaitEvent(nullptr, nullptr, 0));
  cuEventCreate(&event, 0);
  say("ask an event that was never recorded", cuEventQuery(event));
  say("wait for it", cuEventSynchronize(event));
  say("a stream waits for it", cuStreamWaitEvent(nullptr, event, 0));
  say("a stream waits with flags 2", cuStreamWaitEvent(nullptr, event, 2));
  float milliseconds = 0;
  say("time from it to it", cuEventElapsedTime(&milliseconds, event, event));
  say("time, nowhere to put it", cuEventElapsedTime(nullptr, event, event));
  CUevent untimed = nullptr;
  cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING);
  cuEventRecord(untimed, nullptr);
  cuEventSynchronize(untimed);
  say("time of one that keeps none", cuEventElapsedTime(&milliseconds, untimed, untimed));
  say("a module, nowhere to put it", cuModuleLoadData(nullptr, "text"));
  CUmodule module = nullptr;
  say("a module of nothing", cuModuleLoadData(&module, nullptr));
  say("a module of no file", cuModuleLoad(&module, "/there/is/no/such/file"));
  say("a module of no name", cuModuleLoad(&module, nullptr));
  say("unload no module", cuModuleUnload(nullptr));
  say("a kernel of no module", cuModuleGetFunction(&function, nullptr, "store"));
  say("a kernel, nowhere to put it", cuModuleGetFunction(nullptr, kernels, "store"));
  say("a kernel of no name", cuModuleGetFunction(&function, kernels, nullptr));
  say("a kernel of an empty name", cuModuleGetFunction(&function, kernels, ""));
  size_t bytes = 0;
  say("a variable of no module", cuModuleGetGlobal(&memory, &bytes, nullptr, "travelling_global"));
  say("a variable of no name", cuModuleGetGlobal(&memory, &bytes, kernels, nullptr));
  say("a variable, nowhere to put it",
      cuModuleGetGlobal(nullptr, nullptr, kernels, "travelling_global"));
  int value = 0;
  function = find(kernels, "store");
  say("a fact of no kernel",
      cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, nullptr));
  say("a fact, nowhere to put it",
      cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  say("no fact", cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(99), function));
  say("flags, nowhere to put them", cuCtxGetFlags(nullptr));
  say("device, nowhere to put it", cuCtxGetDevice(nullptr));
  say("id, nowhere to put it", cuCtxGetId(nullptr, nullptr));
  say("API version, nowhere to put it", cuCtxGetApiVersion(nullptr, nullptr));
  say("cache preference, nowhere to put it", cuCtxGetCacheConfig(nullptr));
  say("bank size, nowhere to put it", cuCtxGetSharedMemConfig(nullptr));
  say("one priority, the other nowhere", cuCtxGetStreamPriorityRange(&value, nullptr));
  say("whose a stream is, nowhere to put it", cuStreamGetCtx(nullptr, nullptr));
  say("its priority, nowhere to put it", cuStreamGetPriority(nullptr, nullptr));
  say("its flags, nowhere to put them", cuStreamGetFlags(nullptr, nullptr));
  say("memory info, half of it nowhere", cuMemGetInfo(&bytes, nullptr));
  cuMemAlloc(&memory, 64);
  say("copy to no address", cuMemcpyHtoD(0, &value, 4));
  say("copy from no host memory", cuMemcpyHtoD(memory, nullptr, 4));
  say("copy nothing to no address", cuMemcpyHtoD(0, nullptr, 0));
  say("copy to no host memory", cuMemcpyDtoH(nullptr, memory, 4));
  say("copy past the end", cuMemcpyDtoH(&value, memory + 62, 4));
  say("copy between what are no addresses", cuMemcpyDtoD(8, 16, 4));
  say("fill no address", cuMemsetD8(0, 0, 4));
  say("fill nothing", cuMemsetD8(memory, 0, 0));
  say("fill words at odd addresses", cuMemsetD32(memory + 1, 0, 1));
  say("launch none", launch(nullptr, nullptr));
  say("launch without arguments", launch(function, nullptr));
  say("a host function that is none", cuLaunchHostFunc(nullptr, nullptr, nullptr));
  say("write to no address", cuStreamWriteValue32(nullptr, 0, 1, 0));
  cuCtxDestroy(a);
}

// The following call has its own section, because an H200's driver crashed in this call.
void null_error_name() {
  say("a name of no status, nowhere to put it",
      cuGetErrorName(static_cast<CUresult>(12345), nullptr));
}

void null_answers_of_devices() {
  CUcontext const a = floating();
  push(a);
  int value = 0;
  char const* name = "";
  CUresult const status = cuGetErrorName(static_cast<CUresult>(12345), &name);
  say("a name of no status", status, name == nullptr ? "none" : name);
  say("device count, nowhere to put it", cuDeviceGetCount(nullptr));
  say("device, nowhere to put it", cuDeviceGet(nullptr, 0));
  say("a fact of a device, nowhere to put it",
      cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  say("no fact of a device",
      cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(9999), 0));
  say("driver version, nowhere to put it", cuDriverGetVersion(nullptr));
  say("still well", cuCtxSynchronize());
  cuCtxDestroy(a);
}

void without_a_context() {
  CUcontext const a = floating();
  int value = 0;
  unsigned flags = 0;
  unsigned long long id = 0;
  size_t bytes = 0;
  void* host = nullptr;
  CUevent event = nullptr;
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunc_cache cache{};
  CUsharedconfig bank{};
  CUdeviceptr memory = 0;
  say("flags, nowhere to put them", cuCtxGetFlags(nullptr));
  say("set flags", cuCtxSetFlags(0));
  say("set flags that are none", cuCtxSetFlags(3));
  say("id of the current", cuCtxGetId(nullptr, &id));
  say("id of A", cuCtxGetId(a, &id));
  say("API version of A", cuCtxGetApiVersion(a, &flags));
  say("cache preference", cuCtxGetCacheConfig(&cache));
  say("a cache preference that is none", cuCtxSetCacheConfig(static_cast<CUfunc_cache>(9)));
  say("bank size", cuCtxGetSharedMemConfig(&bank));
  say("set bank size", cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE));
  say("a limit that is none", cuCtxSetLimit(static_cast<CUlimit>(99), 0));
  say("a limit, nowhere to put it", cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE));
  say("attach", cuCtxAttach(&context, 0));
  say("detach A", cuCtxDetach(a));
  say("memory info", cuMemGetInfo(&bytes, &bytes));
  say("allocate, nowhere to put it", cuMemAlloc(nullptr, 4));
  say("free none", cuMemFree(0));
  say("free none of the host's", cuMemFreeHost(nullptr));
  say("host memory", cuMemHostAlloc(&host, 64, 0));
  say("register host memory", cuMemHostRegister(&value, 4, 0));
  say("an event", cuEventCreate(&event, 0));
  say("an event, nowhere to put it", cuEventCreate(nullptr, 0));
  say("a stream, nowhere to put it", cuStreamCreate(nullptr, 0));
  say("a stream with priority", cuStreamCreateWithPriority(&stream, 0, 0));
  say("wait for the NULL stream", cuStreamSynchronize(nullptr));
  say("ask the NULL stream", cuStreamQuery(nullptr));
  say("whose the NULL stream is", cuStreamGetCtx(nullptr, &context));
  say("wait for the legacy stream", cuStreamSynchronize(CU_STREAM_LEGACY));
  say("wait for the thread's stream", cuStreamSynchronize(CU_STREAM_PER_THREAD));
  say("record no event", cuEventRecord(nullptr, nullptr));
  say("launch none", launch(nullptr, nullptr));
  say("a module of nothing", cuModuleLoadData(&module, nullptr));
  say("a module of text", cuModuleLoadData(&module, "text"));
  say("a module of no file", cuModuleLoad(&module, "/there/is/no/such/file"));
  say("copy nothing", cuMemcpyHtoD(0, nullptr, 0));
  say("fill nothing", cuMemsetD8(0, 0, 0));
  say("whose what is no address", cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, 8));
  say("allocate behind the NULL stream", cuMemAllocAsync(&memory, 4, nullptr));
  say("destroy A", cuCtxDestroy(a));
}

namespace {

void what_still_answers(CUcontext a, CUcontext b) {
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUcontext made = nullptr;
  CUdevice device = 0;
  unsigned flags = 0;
  unsigned long long id = 0;
  size_t value = 0;
  int count = 0;
  CUresult status = CUDA_SUCCESS;
  say("allocate", cuMemAlloc(&memory, 4));
  say("free none", cuMemFree(0));
  say("a stream", cuStreamCreate(&stream, 0));
  say("an event", cuEventCreate(&event, 0));
  say("ask the NULL stream", cuStreamQuery(nullptr));
  say("flags", cuCtxGetFlags(&flags));
  say("set flags", cuCtxSetFlags(0));
  say("id", cuCtxGetId(nullptr, &id));
  say("device", cuCtxGetDevice(&device));
  say("API version", cuCtxGetApiVersion(nullptr, &flags));
  say("stack limit", cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  say("set stack limit", cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
  CUfunc_cache cache{};
  say("cache preference", cuCtxGetCacheConfig(&cache));
  say("priorities", cuCtxGetStreamPriorityRange(nullptr, nullptr));
  say("set current B", cuCtxSetCurrent(b));
  say("synchronise B", cuCtxSynchronize());
  say("set current A", cuCtxSetCurrent(a));
  say("device count", cuDeviceGetCount(&count));
  say("memory info", cuMemGetInfo(&value, &value));
  say("retain the primary context", cuDevicePrimaryCtxRetain(&made, 0));
  int active = 0;
  status = cuDevicePrimaryCtxGetState(0, &flags, &active);
  say("state of the primary context", status, text(active));
  say("create another", cuCtxCreate(&made, nullptr, 0, 0));
  static_cast<void>(pop());
  say("destroy A", cuCtxDestroy(a));
  say("destroy B", cuCtxDestroy(b));
  say("create one after all", cuCtxCreate(&made, nullptr, 0, 0));
}

}  // namespace

void after_a_trap() {
  CUcontext const a = floating();
  CUcontext const b = floating();
  push(a);
  CUmodule const kernels = load_kernels();
  CUfunction const nothing = find(kernels, "null_kernel");
  say("launch a kernel that traps", launch(find(kernels, "trap_kernel"), nullptr));
  say("synchronise", cuCtxSynchronize());
  say("synchronise again", cuCtxSynchronize());
  say("launch one that does nothing", launch(nothing, nullptr));
  CUfunction function = nullptr;
  say("a kernel of the module", cuModuleGetFunction(&function, kernels, "store"));
  what_still_answers(a, b);
}

void a_trap_elsewhere() {
  CUcontext const a = floating();
  CUcontext const b = floating();
  push(b);
  CUmodule const well = load_kernels();
  CUfunction const nothing = find(well, "null_kernel");
  CUstream stream = nullptr;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  CUevent event = nullptr;
  cuEventCreate(&event, 0);
  cuEventRecord(event, stream);
  cuStreamSynchronize(stream);
  static_cast<void>(pop());
  elsewhere([&] {
    push(a);
    launch(find(load_kernels(), "trap_kernel"), nullptr);
    say("A, on another thread", cuCtxSynchronize());
    static_cast<void>(pop());
  });
  say("with none current: launch in B's stream", launch(nothing, stream));
  say("ask B's event from before", cuEventQuery(event));
  say("wait for B's stream", cuStreamSynchronize(stream));
  push(b);
  say("launch in B", launch(nothing, nullptr));
  CUmodule more = nullptr;
  say("a module of text in B", cuModuleLoadData(&more, "text"));
  say("destroy B's event", cuEventDestroy(event));
  say("destroy B's stream", cuStreamDestroy(stream));
  say("unload B's module", cuModuleUnload(well));
  static_cast<void>(pop());
  say("destroy B", cuCtxDestroy(b));
  say("destroy A", cuCtxDestroy(a));
}

}  // namespace transcript

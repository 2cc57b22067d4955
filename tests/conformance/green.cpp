// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Green contexts: their properties, the objects that are created in them, and their destruction.
#include <array>

#include "parts.hpp"
#include "transcript.hpp"

namespace transcript {
namespace {

CUgreenCtx make_green(CUdevResource* part, unsigned count = 1) {
  CUdevResourceDesc description = nullptr;
  CUgreenCtx made = nullptr;
  if (CUresult const status = cuDevResourceGenerateDesc(&description, part, count)) {
    say("setup: describe", status);
  }
  if (CUresult const status =
          cuGreenCtxCreate(&made, description, 0, CU_GREEN_CTX_DEFAULT_STREAM)) {
    say("setup: a green context", status);
  }
  return made;
}

CUgreenCtx make_some_green() {
  CUdevResource const whole = whole_device();
  CUdevResource part{};
  unsigned count = 1;
  cuDevSmResourceSplitByCount(&part, &count, &whole, nullptr, 0, 16);
  return make_green(&part);
}

void wrong_creations(CUdevResourceDesc description) {
  CUgreenCtx made = nullptr;
  constexpr unsigned flags = CU_GREEN_CTX_DEFAULT_STREAM;
  say("create without flags", cuGreenCtxCreate(&made, description, 0, 0));
  say("create with flags 2", cuGreenCtxCreate(&made, description, 0, 2));
  say("create with flags 3", cuGreenCtxCreate(&made, description, 0, 3));
  say("create on device 99", cuGreenCtxCreate(&made, description, 99, flags));
  say("create of nothing", cuGreenCtxCreate(&made, nullptr, 0, flags));
  say("create, nowhere to put it", cuGreenCtxCreate(nullptr, description, 0, flags));
}

void say_primary(char const* what) {
  unsigned flags = 0;
  int active = 9;
  CUresult const status = cuDevicePrimaryCtxGetState(0, &flags, &active);
  say(what, status, text(active));
}

}  // namespace

void green_contexts() {
  CUdevResource const whole = whole_device();
  std::array<CUdevResource, 132> parts{};
  unsigned count = 2;
  CUdevResource rest{};
  cuDevSmResourceSplitByCount(parts.data(), &count, &whole, &rest, 0, 16);
  CUdevResourceDesc description = nullptr;
  cuDevResourceGenerateDesc(&description, parts.data(), 1);
  wrong_creations(description);

  say_primary("primary context active before");
  CUgreenCtx green = nullptr;
  say("create", cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  note("current", yes(current() != nullptr));
  say_primary("primary context active");
  CUcontext primary = nullptr;
  cuDevicePrimaryCtxRetain(&primary, 0);
  CUcontext converted = nullptr;
  CUcontext again = nullptr;
  CUresult status = cuCtxFromGreenCtx(&converted, green);
  say("convert", status, converted == primary ? "the primary" : "another");
  status = cuCtxFromGreenCtx(&again, green);
  say("convert again", status, again == converted ? "the same" : "another");
  say("convert, nowhere to put it", cuCtxFromGreenCtx(nullptr, green));
  say("convert none", cuCtxFromGreenCtx(&again, nullptr));
  CUdevResource mine{};
  status = cuGreenCtxGetDevResource(green, &mine, sm);
  say("its multiprocessors", status, text(mine.sm.smCount));
  say("of no kind", cuGreenCtxGetDevResource(green, &mine, CU_DEV_RESOURCE_TYPE_INVALID));
  say("nowhere to put them", cuGreenCtxGetDevResource(green, nullptr, sm));
  say("of none", cuGreenCtxGetDevResource(nullptr, &mine, sm));
  status = cuCtxGetDevResource(converted, &mine, sm);
  say("of the converted", status, text(mine.sm.smCount));
  status = cuCtxGetDevResource(primary, &mine, sm);
  say("of the primary", status, text(mine.sm.smCount));
  cuGreenCtxGetDevResource(green, &mine, sm);
  split("split what it has", mine, 2, 0, 8);

  say("push", cuCtxPushCurrent(converted));
  note("current is the converted", yes(current() == converted));
  unsigned value = 9;
  CUdevice device = 9;
  unsigned long long id = 0;
  unsigned long long other_id = 0;
  status = cuCtxGetFlags(&value);
  say("flags", status, text(value));
  say("change flags", cuCtxSetFlags(CU_CTX_SCHED_YIELD));
  status = cuCtxGetApiVersion(nullptr, &value);
  say("API version", status, text(value));
  status = cuCtxGetDevice(&device);
  say("device", status, text(device));
  say("id", cuCtxGetId(nullptr, &id));
  status = cuCtxGetId(primary, &other_id);
  say("id of the primary", status, id == other_id ? "the same" : "another");
  status = cuGreenCtxGetId(green, &id);
  say("green id", status, id == other_id ? "the primary's" : "its own");
  status = cuGreenCtxGetId(nullptr, &other_id);
  say("green id of the current", status, id == other_id ? "the same" : "another");
  say("green id, nowhere to put it", cuGreenCtxGetId(green, nullptr));
  size_t stack = 0;
  say("stack to 4096", cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
  status = cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE);
  say("stack", status, text(static_cast<long long>(stack)));
  say("attach", cuCtxAttach(&again, 0));
  say("destroy the converted", cuCtxDestroy(converted));
  note("current is the converted", yes(current() == converted));

  CUmodule const kernels = load_kernels();
  CUfunction const store = find(kernels, "store");
  CUdeviceptr memory = 0;
  say("allocate", cuMemAlloc(&memory, sizeof(int)));
  say("launch in the NULL stream", launch(store, nullptr, memory, 5));
  int stored = 0;
  status = cuMemcpyDtoH(&stored, memory, sizeof stored);
  say("what it stored", status, text(stored));
  CUstream blocking = nullptr;
  CUstream stream = nullptr;
  CUstream own = nullptr;
  say("a blocking stream", cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  say("a stream", cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  say("a stream of it", cuGreenCtxStreamCreate(&own, green, CU_STREAM_NON_BLOCKING, -2));
  say("a blocking stream of it", cuGreenCtxStreamCreate(&own, green, CU_STREAM_DEFAULT, 0));
  say("a stream, nowhere to put it",
      cuGreenCtxStreamCreate(nullptr, green, CU_STREAM_NON_BLOCKING, 0));
  say("a stream of none", cuGreenCtxStreamCreate(&own, nullptr, CU_STREAM_NON_BLOCKING, 0));
  int priority = 9;
  status = cuStreamGetPriority(own, &priority);
  say("its priority", status, text(priority));
  CUgreenCtx found = nullptr;
  status = cuStreamGetGreenCtx(own, &found);
  say("whose it is", status, yes(found == green));
  status = cuStreamGetGreenCtx(stream, &found);
  say("whose the other is", status, yes(found == green));
  status = cuStreamGetGreenCtx(nullptr, &found);
  say("whose the NULL stream is", status, yes(found == green));
  CUcontext of = nullptr;
  status = cuStreamGetCtx(own, &of);
  say("its context", status, name_of(of, {{"converted", converted}, {"primary", primary}}));
  found = nullptr;
  status = cuStreamGetCtx_v2(own, &of, &found);
  say("its contexts", status,
      name_of(of, {{"converted", converted}, {"primary", primary}}) + " green " +
          yes(found == green));
  say("launch in its stream", launch(store, own, memory, 6));
  say("wait for it", cuStreamSynchronize(own));
  CUcontext owner = nullptr;
  status = cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory);
  say("whose the memory is", status,
      name_of(owner, {{"converted", converted}, {"primary", primary}}));
  CUevent event = nullptr;
  cuEventCreate(&event, 0);
  say("record it", cuGreenCtxRecordEvent(green, event));
  say("it waits", cuGreenCtxWaitEvent(green, event));
  say("record none", cuGreenCtxRecordEvent(nullptr, event));
  say("record it in no event", cuGreenCtxRecordEvent(green, nullptr));
  say("record an event in its stream", cuEventRecord(event, own));
  say("synchronise", cuCtxSynchronize());
  static_cast<void>(pop());

  say("push the primary", cuCtxPushCurrent(primary));
  say("its kernel in the primary's NULL stream", launch(store, nullptr, memory, 7));
  say("its kernel in its stream", launch(store, own, memory, 8));
  say("its event in the primary's NULL stream", cuEventRecord(event, nullptr));
  status = cuStreamGetGreenCtx(nullptr, &found);
  say("whose the NULL stream is", status, found == nullptr ? "none" : "green");
  say("green id of the current", cuGreenCtxGetId(nullptr, &id));
  CUcontext const plain = floating();
  push(plain);
  say("its kernel in another context", launch(store, nullptr, memory, 9));
  cuCtxDestroy(plain);
  status = cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE);
  say("stack of the primary", status, text(static_cast<long long>(stack)));
  say("synchronise the primary", cuCtxSynchronize());

  CUgreenCtx second = make_green(&parts[1]);
  CUgreenCtx both = make_green(parts.data(), 2);
  status = cuGreenCtxGetDevResource(both, &mine, sm);
  say("one of two parts has", status, text(mine.sm.smCount));
  say("destroy the second", cuGreenCtxDestroy(second));
  say("destroy that of two", cuGreenCtxDestroy(both));
  say("destroy none", cuGreenCtxDestroy(nullptr));
  for (CUstream const each : {blocking, stream, own}) { cuStreamDestroy(each); }
  cuEventDestroy(event);
  say("destroy", cuGreenCtxDestroy(green));
  static_cast<void>(pop());
  cuDevicePrimaryCtxRelease(0);
  say_primary("primary context active after");
}

/// Uses a stream of a green context. The section `green_contexts` cannot do this: a refused call
/// there overwrites the handle of the stream.
void green_streams() {
  CUgreenCtx const green = make_some_green();
  CUcontext converted = nullptr;
  CUcontext primary = nullptr;
  cuCtxFromGreenCtx(&converted, green);
  cuDevicePrimaryCtxRetain(&primary, 0);
  push(converted);
  CUdeviceptr memory = 0;
  cuMemAlloc(&memory, sizeof(int));
  CUmodule const kernels = load_kernels();
  CUfunction const store = find(kernels, "store");
  CUstream own = nullptr;
  say("a stream of it", cuGreenCtxStreamCreate(&own, green, CU_STREAM_NON_BLOCKING, -2));
  int priority = 9;
  CUresult status = cuStreamGetPriority(own, &priority);
  say("its priority", status, text(priority));
  CUgreenCtx found = nullptr;
  status = cuStreamGetGreenCtx(own, &found);
  say("whose it is", status, yes(found == green));
  CUcontext of = nullptr;
  auto const who = [&] { return name_of(of, {{"converted", converted}, {"primary", primary}}); };
  status = cuStreamGetCtx(own, &of);
  say("its context", status, who());
  found = nullptr;
  status = cuStreamGetCtx_v2(own, &of, &found);
  say("its contexts", status, who() + " green " + yes(found == green));
  say("launch in it", launch(store, own, memory, 6));
  say("wait for it", cuStreamSynchronize(own));
  CUevent event = nullptr;
  cuEventCreate(&event, 0);
  say("record an event in it", cuEventRecord(event, own));
  static_cast<void>(pop());
  push(primary);
  say("its kernel in it, the primary current", launch(store, own, memory, 8));
  CUstream refused = own;
  say("a blocking stream of it", cuGreenCtxStreamCreate(&refused, green, CU_STREAM_DEFAULT, 0));
  note("the handle is as before", yes(refused == own));
  refused = own;
  say("a stream of none", cuGreenCtxStreamCreate(&refused, nullptr, CU_STREAM_NON_BLOCKING, 0));
  note("the handle is as before", yes(refused == own));
  say("the stream still", cuStreamSynchronize(own));
  unsigned flags = 99;
  cuCtxSetFlags(CU_CTX_SCHED_YIELD);
  status = cuCtxGetFlags(&flags);
  say("flags of the primary, set to 2", status, text(flags));
  static_cast<void>(pop());
  CUgreenCtx everything = nullptr;
  CUdevResource mine{};
  cuGreenCtxCreate(&everything, nullptr, 0, CU_GREEN_CTX_DEFAULT_STREAM);
  status = cuGreenCtxGetDevResource(everything, &mine, sm);
  say("multiprocessors of one made of nothing", status, text(mine.sm.smCount));
  say("destroy that", cuGreenCtxDestroy(everything));
  say("destroy its stream", cuStreamDestroy(own));
  say("destroy it", cuGreenCtxDestroy(green));
  cuDevicePrimaryCtxRelease(0);
  say_primary("primary context active after");
}

}  // namespace transcript

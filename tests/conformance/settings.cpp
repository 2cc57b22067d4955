// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flags, limits and cache preferences: the requested and the granted values.
#include "transcript.hpp"

namespace transcript {
namespace {

void flags_at_creation() {
  for (unsigned const flags : {0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x6u, 0x8u, 0x9u, 0xau, 0xcu,
                               0xfu, 0x10u, 0x18u, 0x1cu, 0x80u, 0x100u, 0x200u, 0x80000000u}) {
    CUcontext made = nullptr;
    CUresult const status = cuCtxCreate(&made, nullptr, flags, 0);
    unsigned kept = 0;
    if (status == CUDA_SUCCESS) {
      cuCtxGetFlags(&kept);
      cuCtxDestroy(made);
    }
    say("create with flags " + text(flags), status, status ? "" : "kept " + text(kept));
  }
}

void flags_later() {
  CUcontext made = nullptr;
  cuCtxCreate(&made, nullptr, CU_CTX_SCHED_SPIN, 0);
  for (unsigned const flags : {0u, 2u, 3u, 4u, 7u, 8u, 16u, 20u, 0x80u, 0x100u}) {
    CUresult const status = cuCtxSetFlags(flags);
    unsigned kept = 0;
    cuCtxGetFlags(&kept);
    say("change flags to " + text(flags), status, "now " + text(kept));
  }
  cuCtxDestroy(made);
}

void limit(char const* name, CUlimit which, std::initializer_list<size_t> wishes) {
  size_t before = 0;
  CUresult const readable = cuCtxGetLimit(&before, which);
  say(std::string(name), readable, readable ? "" : text(static_cast<long long>(before)));
  for (size_t const wish : wishes) {
    size_t now = 0;
    CUresult const status = cuCtxSetLimit(which, wish);
    CUresult const read = cuCtxGetLimit(&now, which);
    say(std::string(name) + " to " + std::to_string(wish), status,
        read ? "" : "now " + std::to_string(now));
    if (!readable) { cuCtxSetLimit(which, before); }
  }
}

}  // namespace

void flags_and_limits() {
  flags_at_creation();
  flags_later();

  CUcontext made = nullptr;
  cuCtxCreate(&made, nullptr, 0, 0);
  constexpr size_t kib = 1024;
  constexpr size_t mib = 1024 * kib;
  limit("stack", CU_LIMIT_STACK_SIZE,
        {15, 16, 17, 512, 1023, 8 * kib, 32 * kib, 100000, 128 * kib, 256 * kib, 512 * kib - 1024,
         512 * kib - 16, 512 * kib, 512 * kib + 1, mib, ~size_t{0}});
  limit("printf fifo", CU_LIMIT_PRINTF_FIFO_SIZE,
        {1, 512 * kib, 512 * kib + 1, 1000000, mib + 1, 8 * mib, 1024 * mib});
  limit("malloc heap", CU_LIMIT_MALLOC_HEAP_SIZE,
        {1, 4 * mib, 4 * mib + 1, 5000000, 8 * mib + 1, 16 * mib, 100000000, 1024 * mib});
  limit("sync depth", CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, {0, 2, 25});
  limit("pending launches", CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
        {0, 31, 32, 33, 1000, 2048, 32768, 65537, 1000000});
  limit("L2 fetch granularity", CU_LIMIT_MAX_L2_FETCH_GRANULARITY,
        {1, 31, 33, 48, 65, 100, 129, 256});
  limit("persisting L2", CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
        {1, 3932159, 3932160, 3932161, 7864320, 30000000, 39321600, 39321601, 62914560});
  limit("shared memory", CU_LIMIT_SHMEM_SIZE, {0, 232448});
  limit("CIG", CU_LIMIT_CIG_ENABLED, {0, 1});
  limit("CIG fallback", CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED, {0, 1});
  limit("one past the last", CU_LIMIT_MAX, {0});
  limit("a negative one", static_cast<CUlimit>(-1), {0});
  say("no place for a limit", cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE));
  say("no place for a limit that is none", cuCtxGetLimit(nullptr, static_cast<CUlimit>(99)));

  CUcontext const other = floating();
  cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096);
  push(other);
  size_t value = 0;
  cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE);
  note("a second context's stack when the first's is 4096", text(static_cast<long long>(value)));
  cuCtxDestroy(other);
  say("reset persisting L2", cuCtxResetPersistingL2Cache());
  cuCtxDestroy(made);
  say("reset persisting L2 with no context", cuCtxResetPersistingL2Cache());
}

void limits_after_launches() {
  CUcontext made = nullptr;
  cuCtxCreate(&made, nullptr, 0, 0);
  CUmodule const kernels = load_kernels();
  say("heap to 16 MiB after loading", cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 16 << 20));
  say("launch a kernel that does not allocate", launch(find(kernels, "null_kernel"), nullptr));
  say("heap to 24 MiB", cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 24 << 20));
  say("fifo to 2 MiB", cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 2 << 20));
  CUdeviceptr got = 0;
  cuMemAlloc(&got, sizeof(int));
  say("launch a kernel that allocates", launch(find(kernels, "use_malloc"), nullptr, got));
  say("at once, heap to 32 MiB", cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 32 << 20));
  int value = 0;
  CUresult status = cuMemcpyDtoH(&value, got, sizeof value);
  say("what the kernel got", status, text(value));
  say("heap to 32 MiB", cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 32 << 20));
  say("heap to what it is", cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 24 << 20));
  size_t now = 0;
  status = cuCtxGetLimit(&now, CU_LIMIT_MALLOC_HEAP_SIZE);
  say("heap", status, text(static_cast<long long>(now)));
  say("stack to 8 KiB", cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 8192));
  say("fifo to 4 MiB", cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 4 << 20));
  say("launch a kernel that prints", launch(find(kernels, "print_value"), nullptr, 12));
  say("synchronise", cuCtxSynchronize());
  say("fifo to 8 MiB", cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 8 << 20));

  CUcontext const other = floating();
  push(other);
  say("heap of another context to 32 MiB", cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 32 << 20));
  say("fifo of another context to 4 MiB", cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 4 << 20));
  cuCtxDestroy(other);
  cuCtxDestroy(made);
}

namespace {

void say_carveout(char const* what, CUfunction of) {
  int value = 0;
  CUresult const status =
      cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, of);
  say(what, status, text(value));
}

}  // namespace

void caches() {
  CUcontext const a = floating();
  CUcontext const b = floating();
  push(b);
  CUmodule const kernels_of_b = load_kernels();
  CUfunction const in_b = find(kernels_of_b, "null_kernel");
  static_cast<void>(pop());
  push(a);
  CUmodule const kernels_of_a = load_kernels();
  CUfunction const in_a = find(kernels_of_a, "null_kernel");
  CUfunc_cache cache{};
  say("prefer L1 in A", cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
  say("the kernel in A prefers shared", cuFuncSetCacheConfig(in_a, CU_FUNC_CACHE_PREFER_SHARED));
  say("launch it", launch(in_a, nullptr));
  CUresult status = cuCtxGetCacheConfig(&cache);
  say("A prefers", status, text(cache));
  say_carveout("carveout of the kernel in A", in_a);
  say_carveout("carveout of the same kernel in B", in_b);
  say("the kernel in B, set from A", cuFuncSetCacheConfig(in_b, CU_FUNC_CACHE_PREFER_L1));
  for (int const wrong : {-1, 4, 99}) {
    say("the kernel prefers " + text(wrong),
        cuFuncSetCacheConfig(in_a, static_cast<CUfunc_cache>(wrong)));
    say("A prefers " + text(wrong), cuCtxSetCacheConfig(static_cast<CUfunc_cache>(wrong)));
  }
  say("no kernel prefers L1", cuFuncSetCacheConfig(nullptr, CU_FUNC_CACHE_PREFER_L1));
  status = cuCtxGetCacheConfig(&cache);
  say("A prefers", status, text(cache));
  static_cast<void>(pop());
  push(b);
  status = cuCtxGetCacheConfig(&cache);
  say("B prefers", status, text(cache));
  CUsharedconfig bank{};
  status = cuCtxGetSharedMemConfig(&bank);
  say("bank size of B", status, text(bank));
  for (int const wish : {0, 1, 2, 3, -1}) {
    status = cuCtxSetSharedMemConfig(static_cast<CUsharedconfig>(wish));
    cuCtxGetSharedMemConfig(&bank);
    say("bank size to " + text(wish), status, "now " + text(bank));
  }
  for (int const wish : {1, 2, 3}) {
    say("bank size of a kernel to " + text(wish),
        cuFuncSetSharedMemConfig(in_b, static_cast<CUsharedconfig>(wish)));
  }
  say("launch the kernel in B", launch(in_b, nullptr));
  say("synchronise", cuCtxSynchronize());
  static_cast<void>(pop());
  cuCtxDestroy(a);
  cuCtxDestroy(b);
}

}  // namespace transcript

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Several requests for one setting, one after another. The setting is not restored between the
// requests.
#include "transcript.hpp"

namespace transcript {
namespace {

void limit(char const* name, CUlimit which, std::initializer_list<size_t> wishes) {
  for (size_t const wish : wishes) {
    size_t now = 0;
    CUresult const status = cuCtxSetLimit(which, wish);
    cuCtxGetLimit(&now, which);
    say(std::string(name) + " to " + std::to_string(wish), status, "now " + std::to_string(now));
  }
}

void flags_of(char const* name, unsigned made_with, std::initializer_list<unsigned> wishes) {
  CUcontext made = nullptr;
  cuCtxCreate(&made, nullptr, made_with, 0);
  for (unsigned const wish : wishes) {
    unsigned now = 0;
    CUresult const status = cuCtxSetFlags(wish);
    cuCtxGetFlags(&now);
    say(name + (" to " + text(wish)), status, "now " + text(now));
  }
  cuCtxDestroy(made);
}

}  // namespace

void limits_in_turn() {
  CUcontext made = nullptr;
  cuCtxCreate(&made, nullptr, 0, 0);
  limit("stack", CU_LIMIT_STACK_SIZE,
        {1009, 1008, 1024, 1017, 1023, 1000, 2000, 1999, 1985, 1984, 4090, 4096, 4095, 523265,
         523264, 523263, 0});
  limit("printf fifo", CU_LIMIT_PRINTF_FIFO_SIZE, {524289, 524290, 524544, 700001, 8650751});
  limit("malloc heap", CU_LIMIT_MALLOC_HEAP_SIZE, {8388607, 8388608, 8388609, 8388610, 5000001});
  limit("pending launches", CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
        {599185, 599186, 599187, 4000000000, 100});
  limit("L2 fetch granularity", CU_LIMIT_MAX_L2_FETCH_GRANULARITY, {127, 128, 2});
  limit("persisting L2", CU_LIMIT_PERSISTING_L2_CACHE_SIZE, {11796479, 11796480, 20000000, 5});
  cuCtxDestroy(made);
}

void flags_in_turn() {
  flags_of("flags of a context made with 8", 8, {0, 2, 8, 16, 9});
  flags_of("flags of a context made with 1", 1, {9, 10, 24, 28, 0x88, 0});
}

}  // namespace transcript

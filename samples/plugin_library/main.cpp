// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// An application that has its own CUDA contexts. Several threads call a library that has its own
// contexts. The program checks that the library never changes a thread's context stack.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "driver.hpp"
#include "smoother.hpp"

namespace {

std::atomic<unsigned> calls{0}, refused{0}, wrong{0}, changed{0};

// Calls the library once and checks the result. The library must refuse a call with an invalid
// value.
void call(smoother* library, bool valid) {
  std::vector<float> values(1000, 4.0f);
  values[500] = valid ? 8.0f : std::numeric_limits<float>::quiet_NaN();
  char why[200] = "";
  ++calls;
  if (smoother_run(library, values.data(), values.size(), why, sizeof why) != 0) {
    ++refused;
    wrong += valid || std::isfinite(values[500]) || values[499] != 4.0f || why[0] == '\0' ? 1u : 0u;
    return;
  }
  wrong += valid && values[499] == 5.0f && values[500] == 6.0f && values[501] == 5.0f ? 0u : 1u;
}

// Pops all contexts from the calling thread's stack. Returns whether they were exactly `contexts`,
// with the last of them on top.
bool pop_and_compare(driver const& cuda, std::vector<CUcontext> const& contexts) {
  bool same = true;
  for (auto expected = contexts.rbegin(); expected != contexts.rend(); ++expected) {
    CUcontext popped = nullptr;
    same = cuda.pop(&popped) == CUDA_SUCCESS && popped == *expected && same;
  }
  CUcontext remaining = nullptr;
  return cuda.current(&remaining) == CUDA_SUCCESS && remaining == nullptr && same;
}

void call_with_random_stacks(driver const& cuda, smoother* library,
                             std::vector<CUcontext> const& pool, unsigned seed) {
  std::mt19937 random{seed};
  for (int round = 0; round < 8; ++round) {
    std::vector<CUcontext> stack(random() % 4);
    for (CUcontext& context : stack) { cuda.push(context = pool[random() % pool.size()]); }
    CUcontext before = nullptr, after = nullptr;
    cuda.current(&before);
    call(library, round % 4 != 3);
    cuda.current(&after);
    changed += before == after && pop_and_compare(cuda, stack) ? 0u : 1u;
  }
}

}  // namespace

int main() try {
  driver const cuda;
  std::vector<CUcontext> const contexts{cuda.create_floating(), cuda.create_floating()};
  cuda.push(contexts[0]);  // current on this thread until the end

  char why[200] = "";
  smoother* const library = smoother_open(why, sizeof why);
  if (library == nullptr) {
    throw std::runtime_error{std::string{"the library could not be opened: "} + why};
  }

  call(library, true);
  call(library, false);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i) {
    threads.emplace_back(call_with_random_stacks, std::cref(cuda), library, std::cref(contexts), i);
  }
  for (std::thread& thread : threads) { thread.join(); }
  smoother_close(library);

  changed += pop_and_compare(cuda, {contexts[0]}) ? 0u : 1u;
  for (CUcontext const context : contexts) { cuda.destroy(context); }
  std::printf("9 threads, %u calls, %u of them refused: %u wrong, %u stacks changed\n",
              calls.load(), refused.load(), wrong.load(), changed.load());
  return wrong == 0 && changed == 0 ? 0 : 1;
} catch (std::exception const& error) {
  std::fprintf(stderr, "plugin_library: %s\n", error.what());
  return 2;
}

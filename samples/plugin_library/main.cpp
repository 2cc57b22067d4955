// An application with contexts of its own calls a library that has contexts of its own, from every
// thread it has. Neither knows of the other's.
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

// One call of the library, good or, with a value that is no number, bad.
void call(smoother* library, bool good) {
  std::vector<float> values(1000, 4.0f);
  values[500] = good ? 8.0f : std::numeric_limits<float>::quiet_NaN();
  char why[200] = "";
  ++calls;
  if (smoother_run(library, values.data(), values.size(), why, sizeof why) != 0) {
    ++refused;
    wrong += good || std::isfinite(values[500]) || values[499] != 4.0f || why[0] == '\0' ? 1u : 0u;
    return;
  }
  wrong += good && values[499] == 5.0f && values[500] == 6.0f && values[501] == 5.0f ? 0u : 1u;
}

// The calling thread's stack is `contexts`, its last on top, and nothing else. Takes it down to
// look.
bool stack_is(driver const& cuda, std::vector<CUcontext> const& contexts) {
  bool same = true;
  for (auto each = contexts.rbegin(); each != contexts.rend(); ++each) {
    CUcontext popped = nullptr;
    same = cuda.pop(&popped) == CUDA_SUCCESS && popped == *each && same;
  }
  CUcontext left = nullptr;
  return cuda.current(&left) == CUDA_SUCCESS && left == nullptr && same;
}

void call_with_a_stack(driver const& cuda, smoother* library, std::vector<CUcontext> const& pool,
                       unsigned seed) {
  std::mt19937 random{seed};
  for (int round = 0; round < 8; ++round) {
    std::vector<CUcontext> stack(random() % 4);
    for (CUcontext& each : stack) { cuda.push(each = pool[random() % pool.size()]); }
    CUcontext before = nullptr, after = nullptr;
    cuda.current(&before);
    call(library, round % 4 != 3);
    cuda.current(&after);
    changed += before == after && stack_is(cuda, stack) ? 0u : 1u;
  }
}

}  // namespace

int main() try {
  driver const cuda;
  std::vector<CUcontext> const mine{cuda.floating(), cuda.floating()};
  cuda.push(mine[0]);  // current in this thread from here to the end

  char why[200] = "";
  smoother* const library = smoother_open(why, sizeof why);
  if (library == nullptr) {
    throw std::runtime_error{std::string{"the library did not open: "} + why};
  }

  call(library, true);
  call(library, false);
  std::vector<std::thread> crew;
  for (unsigned i = 0; i < 8; ++i) {
    crew.emplace_back(call_with_a_stack, std::cref(cuda), library, std::cref(mine), i);
  }
  for (std::thread& each : crew) { each.join(); }
  smoother_close(library);

  changed += stack_is(cuda, {mine[0]}) ? 0u : 1u;
  for (CUcontext const each : mine) { cuda.destroy(each); }
  std::printf("9 threads, %u calls, %u of them refused: %u wrong, %u stacks changed\n",
              calls.load(), refused.load(), wrong.load(), changed.load());
  return wrong == 0 && changed == 0 ? 0 : 1;
} catch (std::exception const& error) {
  std::fprintf(stderr, "plugin_library: %s\n", error.what());
  return 2;
}

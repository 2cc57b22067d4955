#include "cpu_driver/context/context_stack.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace flotilla::cpu_driver::context_stack {
namespace {

using handles = std::vector<CUcontext>;

// A plain pointer, because destructors of static objects run after those of thread-local objects:
// they find an empty stack and not a destroyed one.
thread_local handles* mine = nullptr;

struct owner {
  ~owner() { delete std::exchange(mine, nullptr); }
};

handles& stack() {
  if (mine == nullptr) {
    mine = new handles;
    thread_local owner const guard;
    static_cast<void>(guard);
  }
  return *mine;
}

}  // namespace

CUcontext top() noexcept { return mine == nullptr || mine->empty() ? nullptr : mine->back(); }

void push(CUcontext added) { stack().push_back(added); }

CUcontext pop() noexcept {
  CUcontext const taken = top();
  if (taken != nullptr) { mine->pop_back(); }
  return taken;
}

std::size_t depth() noexcept { return mine == nullptr ? 0 : mine->size(); }

}  // namespace flotilla::cpu_driver::context_stack

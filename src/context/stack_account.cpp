#include "context/stack_account.hpp"

#include <cstdio>
#include <vector>

#include <flotilla/context/context_ref.hpp>

#include "base/per_thread.hpp"
#include "context/lease.hpp"
#include "context/registry.hpp"
#include "driver/check.hpp"

namespace flotilla::context {

namespace {

/// Counts the pushes that no scope made. The first counter is for pushes outside all scopes. Then
/// one counter for each open scope follows, outermost scope first, for the pushes inside that
/// scope.
struct thread_account {
  std::vector<unsigned> pushes{0};
};

using accounts = base::per_thread<thread_account>;

}  // namespace

std::string in_words(CUcontext handle) {
  if (auto const whose = registry::owner(handle)) { return "the context of " + *whose; }
  char text[32];
  std::snprintf(text, sizeof text, "context %p", static_cast<void*>(handle));
  return text;
}

void enter(driver::table const& api, CUcontext handle) {
  if (!registry::enter(handle, this_thread_token())) {
    throw context_in_use(in_words(handle) +
                         " is a green context that is current on another thread; a green context "
                         "can be current on only one thread at a time");
  }
  if (CUresult const answer = api.ctx_push_current(handle); answer != CUDA_SUCCESS) {
    registry::leave(handle);
    driver::check(answer, "cuCtxPushCurrent", in_words(handle));
  }
}

int leave(driver::table const& api, CUcontext handle) noexcept {
  registry::leave(handle);
  CUcontext popped = nullptr;
  if (api.ctx_pop_current(&popped) != CUDA_SUCCESS) { return -1; }
  if (popped == handle) [[likely]] { return 0; }
  std::vector<CUcontext> above{popped};
  while (api.ctx_pop_current(&popped) == CUDA_SUCCESS) {
    if (popped == handle) { return static_cast<int>(above.size()); }
    above.push_back(popped);
  }
  // Other code has popped `handle`. Pushes the other contexts back, because only the code that
  // pushed them may pop them.
  for (auto each = above.rbegin(); each != above.rend(); ++each) { api.ctx_push_current(*each); }
  return -1;
}

void enter_scope(driver::table const& api, CUcontext handle) {
  std::vector<unsigned>& pushes = accounts::get().pushes;
  pushes.push_back(0);
  try {
    enter(api, handle);
  } catch (...) {
    pushes.pop_back();
    throw;
  }
}

void close_scope() noexcept { accounts::find()->pushes.pop_back(); }

void open_account() { static_cast<void>(accounts::get()); }

void bare_push() noexcept { ++accounts::find()->pushes.back(); }

bool top_belongs_to_scope() noexcept {
  thread_account const* const mine = accounts::find();
  return mine != nullptr && mine->pushes.size() > 1 && mine->pushes.back() == 0;
}

bool bare_pop() noexcept {
  if (top_belongs_to_scope()) { return false; }
  // Outside any scope the application may also pop contexts that it pushed by a direct call of the
  // driver. The account does not count such pushes, so the counter may already be 0.
  if (thread_account* const mine = accounts::find(); mine != nullptr && mine->pushes.back() > 0) {
    --mine->pushes.back();
  }
  return true;
}

}  // namespace flotilla::context

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/stack_account.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <vector>

#include <flotilla/context/context_ref.hpp>

#include "base/per_thread.hpp"
#include "context/lease.hpp"
#include "context/registry.hpp"
#include "driver/check.hpp"

namespace flotilla::context {

namespace {

/// Counts the pushes that no scope made. The first counter is for pushes outside all scopes. The
/// others are for pushes inside the open scopes, one counter for each scope, outermost first.
struct thread_account {
  std::vector<unsigned> pushes{0};

  /// A context that this thread has entered and not left. The serial number distinguishes contexts
  /// that have the same handle one after the other.
  struct entered_context {
    CUcontext handle;
    std::uint64_t serial;
  };
  std::vector<entered_context> entered;

  thread_account() = default;
  thread_account(thread_account&&) = delete;
  /// The thread ends, and the driver discards the thread's stack of contexts.
  ~thread_account() {
    for (entered_context const& each : entered) {
      if (registry::serial(each.handle) == each.serial) { registry::leave(each.handle); }
    }
  }
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
  auto& entered = accounts::get().entered;
  entered.reserve(entered.size() + 1);  // may throw, so before the push
  if (!registry::enter(handle, this_thread_token())) {
    throw context_in_use(in_words(handle) +
                         " is a green context that is current on another thread; a green context "
                         "can be current on only one thread at a time");
  }
  if (CUresult const answer = api.ctx_push_current(handle); answer != CUDA_SUCCESS) {
    registry::leave(handle);
    driver::check(answer, "cuCtxPushCurrent", in_words(handle));
  }
  entered.push_back({handle, registry::serial(handle)});
}

void note_popped(CUcontext handle) noexcept {
  thread_account* const mine = accounts::find();
  if (mine == nullptr) { return; }
  auto const found = std::find_if(mine->entered.rbegin(), mine->entered.rend(),
                                  [handle](auto const& each) { return each.handle == handle; });
  // The application may have pushed the context by a direct call of the driver.
  if (found == mine->entered.rend()) { return; }
  if (registry::serial(handle) == found->serial) { registry::leave(handle); }
  mine->entered.erase(std::next(found).base());
}

int leave(driver::table const& api, CUcontext handle) noexcept {
  note_popped(handle);
  CUcontext popped = nullptr;
  if (api.ctx_pop_current(&popped) != CUDA_SUCCESS) { return -1; }
  if (popped == handle) [[likely]] { return 0; }
  std::vector<CUcontext> above{popped};
  while (api.ctx_pop_current(&popped) == CUDA_SUCCESS) {
    if (popped == handle) {
      for (CUcontext const each : above) { note_popped(each); }
      return static_cast<int>(above.size());
    }
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

void close_scope() noexcept {
  // A scope in a static object ends after the account of the main thread.
  thread_account* const mine = accounts::find();
  if (mine != nullptr && mine->pushes.size() > 1) { mine->pushes.pop_back(); }
}

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

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/context/destroyed_contexts.hpp"

#include <deque>
#include <mutex>
#include <new>
#include <unordered_map>

namespace flotilla::cpu_driver::destroyed_contexts {
namespace {

struct known_contexts {
  std::mutex mutex;
  std::unordered_map<CUcontext, facts> known;  // guarded by mutex
  std::deque<CUcontext> by_age;  // the handles in `known`, oldest first; guarded by mutex

  static known_contexts& get() {
    static auto* const only = new known_contexts;  // never destroyed, like handle tables
    return *only;
  }
};

}  // namespace

void add(CUcontext handle, facts its_facts) noexcept {
  try {
    auto& all = known_contexts::get();
    std::lock_guard const lock(all.mutex);
    if (auto const before = all.known.find(handle); before != all.known.end()) {
      before->second = its_facts;  // the handle of a primary context is reused
      return;
    }
    all.by_age.push_back(handle);
    try {
      all.known.emplace(handle, its_facts);
    } catch (...) {
      all.by_age.pop_back();
      throw;
    }
    if (all.by_age.size() > max_known) {
      all.known.erase(all.by_age.front());
      all.by_age.pop_front();
    }
  } catch (std::bad_alloc const&) {
    // The host is out of memory. find() will return nothing for this context.
  }
}

std::optional<facts> find(CUcontext handle) {
  auto& all = known_contexts::get();
  std::lock_guard const lock(all.mutex);
  auto const found = all.known.find(handle);
  return found != all.known.end() ? std::optional(found->second) : std::nullopt;
}

}  // namespace flotilla::cpu_driver::destroyed_contexts

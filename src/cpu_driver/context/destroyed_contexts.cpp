#include "cpu_driver/corpses.hpp"

#include <deque>
#include <mutex>
#include <new>
#include <unordered_map>

namespace flotilla::cpu_driver::corpses {
namespace {

struct yard {
  std::mutex mutex;
  std::unordered_map<CUcontext, facts> known;  // guarded by mutex, as is the next
  std::deque<CUcontext> by_age;                // each of `known` once, the oldest first

  static yard& get() {
    static auto* const only = new yard;  // as the driver's state: until the very end
    return *only;
  }
};

}  // namespace

void add(CUcontext ended, facts what) noexcept {
  try {
    auto& all = yard::get();
    std::lock_guard const lock(all.mutex);
    if (auto const before = all.known.find(ended); before != all.known.end()) {
      before->second = what;  // a primary context, whose handle comes again
      return;
    }
    all.by_age.push_back(ended);
    try {
      all.known.emplace(ended, what);
    } catch (...) {
      all.by_age.pop_back();
      throw;
    }
    if (all.by_age.size() > most) {
      all.known.erase(all.by_age.front());
      all.by_age.pop_front();
    }
  } catch (std::bad_alloc const&) {
    // It then answers as if it were one too many.
  }
}

std::optional<facts> find(CUcontext ended) {
  auto& all = yard::get();
  std::lock_guard const lock(all.mutex);
  auto const found = all.known.find(ended);
  return found != all.known.end() ? std::optional(found->second) : std::nullopt;
}

}  // namespace flotilla::cpu_driver::corpses

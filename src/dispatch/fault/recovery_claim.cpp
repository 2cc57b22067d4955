// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/recovery_claim.hpp"

#include <mutex>
#include <set>
#include <utility>

#include <flotilla/error/error.hpp>

namespace flotilla::dispatch {

namespace {

struct claims {
  std::mutex mutex;
  std::set<std::pair<driver::device_recovery*, int>> taken;
};

claims& all() {
  static claims one;
  return one;
}

}  // namespace

recovery_claim::recovery_claim(driver::device_recovery* of, int ordinal, std::string const& subject)
    : of_(of), ordinal_(ordinal) {
  if (of_ == nullptr) { return; }
  std::lock_guard const lock{all().mutex};
  if (!all().taken.emplace(of_, ordinal_).second) {
    throw invalid_argument(subject +
                           " is isolated, and another runtime of this process uses it: destroy "
                           "that runtime first, or share it");
  }
}

void recovery_claim::release() noexcept {
  driver::device_recovery* const of = std::exchange(of_, nullptr);
  if (of == nullptr) { return; }
  std::lock_guard const lock{all().mutex};
  all().taken.erase({of, ordinal_});
}

}  // namespace flotilla::dispatch

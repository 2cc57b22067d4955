// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps flotilla's log messages, so that a test can poll them.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/error/log.hpp>

namespace flotilla::test {

/// While it exists, messages go to it instead of stderr. Threads: any.
class kept_log {
 public:
  kept_log() {
    // Another thread may still call the handler after the destructor, so the handler owns the list.
    set_log_handler([to = lines_](log_message const& one) {
      std::lock_guard const lock{to->mutex};
      to->texts.emplace_back(one.text);
    });
  }
  ~kept_log() { set_log_handler({}); }
  kept_log(kept_log const&) = delete;
  kept_log& operator=(kept_log const&) = delete;

  [[nodiscard]] std::vector<std::string> lines() const {
    std::lock_guard const lock{lines_->mutex};
    return lines_->texts;
  }
  /// Returns how many messages contain `part`.
  [[nodiscard]] std::size_t count(std::string_view part) const {
    auto const all = lines();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [part](auto const& each) {
      return each.find(part) != std::string::npos;
    }));
  }
  /// Returns all messages, one in a line.
  [[nodiscard]] std::string text() const {
    std::string made;
    for (std::string const& each : lines()) { made += each + '\n'; }
    return made;
  }

 private:
  struct list {
    std::mutex mutex;
    std::vector<std::string> texts;  // guarded by mutex
  };
  std::shared_ptr<list> const lines_ = std::make_shared<list>();
};

}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Refuses tasks that must not use their data.

#include <cstddef>
#include <span>

#include <flotilla/detail/data_use.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/data/datum.hpp"
#include "flows/data/task_name.hpp"

namespace flotilla::flows {

/// Threads: the caller holds the flow's mutex.
class use_check {
 public:
  /// @param owner  The flow to which the data must belong. It is only compared.
  use_check(flow_state const& owner, dispatch::runtime_state& runtime) noexcept
      : owner_(owner), runtime_(runtime) {}

  /// Checks the uses of a task. @throws invalid_argument
  void check(std::span<detail::datum_use const> uses, task_name const& task) const {
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (!is_plain(uses, i)) [[unlikely]] { check_one(uses, i, task); }
    }
  }
  /// Checks that the program may use the data. @throws invalid_argument
  void check(detail::datum& which, detail::access_mode mode) const {
    detail::datum_use const use{&which, mode, nullptr};
    check({&use, 1}, {});
  }
  /// If the runtime checks arguments: returns whether a buffer of a device from which the data were
  /// made has older contents. Memory of the host is written back.
  [[nodiscard]] bool is_outdated(detail::datum const& which) const noexcept;
  /// Reports data that have ended with such memory. The caller must not hold the flow's mutex,
  /// because the program may handle the report.
  static void report_outdated(detail::datum const& which) noexcept;
  /// @throws invalid_argument  Tiles of the data exist.
  static void check_undivided(detail::datum const& which, task_name const& task = {});

 private:
  /// Returns whether a use is so usual that it needs no further check.
  [[nodiscard]] bool is_plain(std::span<detail::datum_use const> uses,
                              std::size_t index) const noexcept {
    detail::datum const* const which = uses[index].what;
    if (which == nullptr || which->owner.get() != &owner_ || which->tiles != nullptr ||
        runtime_.checks != nullptr || !(which->has_contents || !needs_contents(uses[index].mode))) {
      return false;
    }
    for (std::size_t i = 0; i < index; ++i) {
      if (uses[i].what == which) { return false; }
    }
    return true;
  }
  void check_one(std::span<detail::datum_use const> uses, std::size_t index,
                 task_name const& task) const;
  /// If the runtime checks arguments, checks that memory of the program still exists.
  void check_memory(detail::datum const& which, task_name const& task) const;

  flow_state const& owner_;
  dispatch::runtime_state& runtime_;
};

}  // namespace flotilla::flows

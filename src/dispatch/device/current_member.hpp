// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which of the devices that a thread drives has its context current.

#include <optional>

#include <flotilla/error/error.hpp>

#include "context/lease.hpp"

namespace flotilla::dispatch {

/// Threads: only the thread that holds the leases of the devices.
class current_member {
 public:
  /// Makes the context of the gate current. @throws driver_error  None is current then.
  void set(context::lease_gate& gate) {
    if (gate_ == &gate) { return; }
    clear();
    scope_.emplace(gate);
    gate_ = &gate;
  }
  /// The same, but @return false if the driver has refused it.
  [[nodiscard]] bool try_set(context::lease_gate& gate) {
    try {
      set(gate);
    } catch (driver_error const&) { return false; }
    return true;
  }
  /// Makes none current.
  void clear() noexcept {
    scope_.reset();
    gate_ = nullptr;
  }
  [[nodiscard]] bool any() const noexcept { return gate_ != nullptr; }

 private:
  std::optional<context::current_scope> scope_;
  context::lease_gate* gate_ = nullptr;
};

}  // namespace flotilla::dispatch

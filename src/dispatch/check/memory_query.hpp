// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Asks the driver where an address is.

#include <cstddef>
#include <cstdint>

#include "context/context_handle.hpp"
#include "driver/table.hpp"

namespace flotilla::dispatch {

struct memory_facts {
  enum class places {
    no_answer,  // the driver gave no answer, for example because it is shutting down
    unknown,    // the driver does not know the address
    host,       // pinned memory, which all devices can access
    managed,    // memory that the driver moves between host and devices
    device
  };
  places place = places::no_answer;
  int device = 0;        // the driver's ordinal of the device, if the place is `device`
  std::uint64_t id = 0;  // number of the allocation; the driver never uses a number twice
};

/// Threads: any. Needs no current context, unless a function says so.
class memory_query {
 public:
  explicit memory_query(driver::table const& api) noexcept : api_(api) {}

  /// Cost: up to four driver calls, which do not wait for a device.
  [[nodiscard]] memory_facts ask(std::uintptr_t address) const noexcept;
  /// Returns how many bytes the allocation has from `address` to its end. If the driver gives no
  /// answer, the result is SIZE_MAX. A context must be current.
  [[nodiscard]] std::size_t bytes_from(std::uintptr_t address) const noexcept;
  /// Returns whether kernels in `context` can access the memory of another device at `address`. If
  /// the driver gives no answer, the result is true.
  [[nodiscard]] bool is_accessible(std::uintptr_t address,
                                   context::context_handle const& context) const noexcept;
  /// Returns whether this process has a page at `address`.
  [[nodiscard]] static bool is_mapped(std::uintptr_t address) noexcept;

 private:
  driver::table const& api_;
};

}  // namespace flotilla::dispatch

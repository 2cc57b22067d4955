// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which memory a task uses, as far as the order check knows.

#include <cstddef>
#include <span>
#include <vector>

#include <flotilla/detail/memory_command.hpp>
#include <flotilla/kernel/launch.hpp>

#include "dispatch/check/memory_access.hpp"
#include "dispatch/check/memory_query.hpp"

namespace flotilla::dispatch {

/// Threads: any. Memory that the driver does not know is left out: the program may reuse its
/// address without the knowledge of the check.
class task_accesses {
 public:
  explicit task_accesses(driver::table const& api) noexcept : query_(api) {}

  /// A pointer to const reads, and another pointer reads and writes. A device_buffer or device_span
  /// is used in full. Of a plain pointer only one object is used, because the size is not known.
  [[nodiscard]] std::vector<memory_access> of(launch const& what) const;
  [[nodiscard]] std::vector<memory_access> of(detail::memory_command const& what) const;

 private:
  void add(std::vector<memory_access>& to, memory_access access, std::size_t bytes) const;

  memory_query const query_;
};

}  // namespace flotilla::dispatch

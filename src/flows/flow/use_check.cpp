// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/flow/use_check.hpp"

#include <flotilla/error/error.hpp>

namespace flotilla::flows {

void use_check::check_undivided(detail::datum const& which, std::string const& task) {
  if (!which.is_divided()) { return; }
  throw invalid_argument(task + which.text() + " are divided into tiles, and " +
                         std::to_string(which.tiles->open) +
                         " of the tiles still exist; use the tiles, or let them end first");
}

void use_check::check_memory(detail::datum const& which, std::string const& task) const {
  if (runtime_.checks == nullptr || which.is_token()) { return; }
  detail::datum const* all = &which;
  while (all->whole != nullptr) { all = all->whole; }
  for (std::size_t i = 0; i < all->replicas.size(); ++i) {
    block const& memory = all->replicas[i].memory;
    bool const is_of_program = memory.exists() && memory.owned.range().address() == 0;
    if (!is_of_program) { continue; }
    bool const is_buffer = !place::at(i).is_host() || memory.kind != detail::host_memory::pageable;
    std::string const why = runtime_.checks->freed(memory.address, all->bytes, is_buffer);
    if (!why.empty()) {
      throw invalid_argument(task + which.text() + " were made from memory of the program " + why +
                             "; the memory must exist until the data have ended");
    }
  }
}

void use_check::check_one(std::span<detail::datum_use const> uses, std::size_t index,
                          std::string_view label) const {
  std::string const task = label.empty() ? "" : "task '" + std::string{label} + "': ";
  detail::datum const* const which = uses[index].what;
  if (which == nullptr) {
    throw invalid_argument(task + "use " + std::to_string(index) +
                           " names no data: the object is empty or was moved from");
  }
  if (which->owner.get() != &owner_) {
    throw invalid_argument(task + which->text() + " belong to another flow");
  }
  for (detail::datum_use const& earlier : uses.first(index)) {
    if (earlier.what == which) {
      throw invalid_argument(task + which->text() +
                             " occur twice in one task; name them once, with `update` if the task "
                             "reads and writes them");
    }
  }
  check_undivided(*which, task);
  check_memory(*which, task);
  if (needs_contents(uses[index].mode) && !which->has_value() && !which->is_token()) {
    throw invalid_argument(task + which->text() +
                           " have no contents yet: no task has written them, and they were made "
                           "without memory of the application");
  }
}

}  // namespace flotilla::flows

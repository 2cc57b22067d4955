// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/flow/use_check.hpp"

#include <new>

#include <flotilla/error/error.hpp>

#include "base/log.hpp"

namespace flotilla::flows {

using detail::access_mode;

namespace {

bool is_of_program(block const& memory) noexcept {
  return memory.exists() && memory.owned.range().address() == 0;
}

}  // namespace

bool use_check::is_outdated(detail::datum const& which) const noexcept {
  bool const is_checked = runtime_.checks != nullptr && runtime_.checks->which().arguments;
  if (!is_checked || which.is_token() || !which.has_value()) { return false; }
  for (std::size_t i = 0; i < which.replicas.size(); ++i) {
    place const where = place::at(i);
    if (where.is_host() || !is_of_program(which.replicas[i].memory)) { continue; }
    if (!which.is_valid_at(where)) { return true; }
  }
  return false;
}

void use_check::report_outdated(detail::datum const& which) noexcept {
  try {
    base::log_format(
        log_level::warning,
        "%s ended, but the memory of the program from which they were made has older contents, "
        "because the newest ones were not copied back. Call prefetch_to before the data end. If "
        "nobody needs the contents, make the data without memory (FLOTILLA_CHECK=arguments)",
        which.text().c_str());
  } catch (std::bad_alloc const&) {  // only a report is lost
  }
}

void use_check::check_undivided(detail::datum const& which, task_name const& task) {
  if (!which.is_divided()) { return; }
  throw invalid_argument(task.prefix() + which.text() + " are divided into tiles, and " +
                         std::to_string(which.tiles->open) +
                         " of the tiles still exist; use the tiles, or let them end first");
}

void use_check::check_memory(detail::datum const& which, task_name const& task) const {
  if (runtime_.checks == nullptr || which.is_token()) { return; }
  detail::datum const* all = &which;
  while (all->whole != nullptr) { all = all->whole; }
  for (std::size_t i = 0; i < all->replicas.size(); ++i) {
    block const& memory = all->replicas[i].memory;
    if (!is_of_program(memory)) { continue; }
    bool const is_buffer = !place::at(i).is_host() || memory.kind != detail::host_memory::pageable;
    std::string const why = runtime_.checks->freed(memory.address, all->bytes, is_buffer);
    if (!why.empty()) {
      throw invalid_argument(task.prefix() + which.text() +
                             " were made from memory of the program " + why +
                             "; the memory must exist until the data have ended");
    }
  }
}

void use_check::check_one(std::span<detail::datum_use const> uses, std::size_t index,
                          task_name const& task) const {
  detail::datum const* const which = uses[index].what;
  if (which == nullptr) {
    throw invalid_argument(task.prefix() + "use " + std::to_string(index) +
                           " names no data: the object is empty or was moved from");
  }
  if (which->owner.get() != &owner_) {
    throw invalid_argument(task.prefix() + which->text() + " belong to another flow");
  }
  for (detail::datum_use const& earlier : uses.first(index)) {
    bool const only_read =
        earlier.mode == access_mode::read && uses[index].mode == access_mode::read;
    if (earlier.what == which && !only_read) {
      throw invalid_argument(task.prefix() + which->text() +
                             " occur twice in one task, which does not only read them; name them "
                             "once, with `update` if the task reads and writes them");
    }
  }
  check_undivided(*which, task);
  check_memory(*which, task);
  if (needs_contents(uses[index].mode) && !which->has_value() && !which->is_token()) {
    throw invalid_argument(task.prefix() + which->text() +
                           " have no contents yet: no task has written them, and they were made "
                           "without memory of the application");
  }
}

}  // namespace flotilla::flows

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/driver_notes.hpp"

#include <atomic>
#include <cstdint>

#include "base/fork_guard.hpp"
#include "base/refusal.hpp"

namespace flotilla::base {

namespace {
constinit std::atomic<driver_notes> current{nullptr};
constinit std::atomic<std::uint32_t> generation{0};
}  // namespace

void set_driver_notes(driver_notes take) noexcept {
  generation.store(fork_generation());
  current.store(take);
}

std::string take_driver_notes(int status) {
  std::string refused = take_refusal(status);
  if (!refused.empty()) { refused.insert(0, "; "); }
  driver_notes const take = current.load();
  // The driver does not work in a child of the process that opened it.
  if (take == nullptr || fork_generation() != generation.load()) { return refused; }
  std::string notes = take();
  while (!notes.empty() && (notes.back() == '\n' || notes.back() == '\0')) { notes.pop_back(); }
  return notes.empty() ? refused : refused + "; the driver's log: " + notes;
}

}  // namespace flotilla::base

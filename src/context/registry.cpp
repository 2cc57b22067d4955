// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/registry.hpp"

#include <mutex>
#include <unordered_map>

namespace flotilla::context::registry {

namespace {

struct entry {
  std::string subject;
  std::uint64_t serial = 0;
  bool one_thread = false;
  unsigned entered = 0;
  std::uint64_t thread = 0;  // token of the thread that last called enter()
};

struct book {
  std::mutex mutex;
  std::unordered_map<CUcontext, entry> entries;
  std::uint64_t last_serial = 0;
};

// The book is never destroyed. Otherwise a runtime in a static object could outlive the book.
book& all() {
  static book& made = *new book;
  return made;
}

}  // namespace

void add(CUcontext handle, std::string const& subject, bool one_thread) {
  std::lock_guard const lock{all().mutex};
  all().entries.insert_or_assign(handle, entry{subject, ++all().last_serial, one_thread, 0, 0});
}

void remove(CUcontext handle) noexcept {
  std::lock_guard const lock{all().mutex};
  all().entries.erase(handle);
}

std::optional<std::string> owner(CUcontext handle) {
  std::lock_guard const lock{all().mutex};
  auto const found = all().entries.find(handle);
  if (found == all().entries.end()) { return std::nullopt; }
  return found->second.subject;
}

std::uint64_t serial(CUcontext handle) noexcept {
  std::lock_guard const lock{all().mutex};
  auto const found = all().entries.find(handle);
  return found == all().entries.end() ? 0 : found->second.serial;
}

bool enter(CUcontext handle, std::uint64_t thread) noexcept {
  std::lock_guard const lock{all().mutex};
  auto const found = all().entries.find(handle);
  if (found == all().entries.end()) { return true; }
  entry& of = found->second;
  if (of.one_thread && of.entered != 0 && of.thread != thread) { return false; }
  ++of.entered;
  of.thread = thread;
  return true;
}

void leave(CUcontext handle) noexcept {
  std::lock_guard const lock{all().mutex};
  auto const found = all().entries.find(handle);
  if (found != all().entries.end() && found->second.entered > 0) { --found->second.entered; }
}

unsigned times_entered(CUcontext handle) noexcept {
  std::lock_guard const lock{all().mutex};
  auto const found = all().entries.find(handle);
  return found == all().entries.end() ? 0 : found->second.entered;
}

}  // namespace flotilla::context::registry

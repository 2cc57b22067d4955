// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/owner/journal.hpp"

#include <algorithm>
#include <utility>

#include "isolation/owner/reserved.hpp"

namespace flotilla::isolated {

journal::journal(int device, std::uint32_t first)
    : device_(device),
      first_(first),
      next_(std::max(first, 1u)),
      slots_(reserve<std::atomic<std::uint64_t>>(first_shared_object)),
      recorded_(reserve<std::atomic<bool>>(first_shared_object)),
      homes_(reserve<std::atomic<std::uint32_t>>(first_shared_object)) {}

std::uint32_t journal::next_index() {
  if (!free_.empty()) { return free_.back(); }
  return next_ < first_ + first_shared_object ? next_ : 0;
}

handle_bits journal::add(std::uint32_t index, object_kind kind, std::uint32_t parent, record made) {
  // What needs memory comes first. `erase` must not need any.
  bool const is_reused = !free_.empty() && free_.back() == index;
  std::size_t const indices = next_ - first_ + 1;
  if (free_.capacity() < indices) { free_.reserve(2 * indices); }
  entries_[index] = {};
  if (journal_entry* const above = find(parent)) {
    try {
      above->children.push_back(index);
    } catch (...) {
      entries_.erase(index);
      throw;
    }
  }
  if (is_reused) {
    free_.pop_back();
  } else {
    ++next_;
  }
  journal_entry& one = *find(index);
  one.kind = kind;
  one.parent = parent;
  one.made = std::move(made);
  one.made.order = next_order();
  if (kind == object_kind::graph_exec && !one.made.uses.empty()) {
    if (journal_entry* const graph = find(one.made.uses.front())) { ++graph->users; }
  }
  recorded_[index - first_].store(false, std::memory_order_relaxed);
  bool const has_home = kind == object_kind::stream || kind == object_kind::event;
  homes_[index - first_].store(has_home ? parent : 0, std::memory_order_relaxed);
  handle_bits const handle = handle_bits::make(device_, kind, ++generation_, index);
  slot(index).store(handle.value, std::memory_order_relaxed);
  return handle;
}

void journal::expect_change(std::uint32_t index, std::uint64_t what) {
  if (journal_entry* const one = find(index)) { one->changes[what]; }
}

void journal::change(std::uint32_t index, std::uint64_t what, record made) noexcept {
  journal_entry* const one = find(index);
  if (one == nullptr) { return; }
  auto const last = one->changes.find(what);
  if (last == one->changes.end()) { return; }
  last->second = std::move(made);
  last->second.order = next_order();
}

journal_entry* journal::find(std::uint32_t index) {
  auto const found = index == 0 ? entries_.end() : entries_.find(index);
  return found != entries_.end() ? &found->second : nullptr;
}

std::uint32_t journal::find_once(std::string const& key) const {
  auto const found = once_.find(key);
  return found != once_.end() ? found->second : 0;
}

void journal::set_once(std::uint32_t index, std::string const& key) {
  once_[key] = index;
  entries_[index].once = key;
}

void journal::close(std::uint32_t index, release_image release) noexcept {
  journal_entry* const one = find(index);
  if (one == nullptr) { return; }
  if (one->users != 0) {
    // An executable needs the graph again in a successor. The nodes also name its parts.
    one->is_open = false;
    slot(index).store(0, std::memory_order_relaxed);
    return;
  }
  if (journal_entry* const above = find(one->parent)) { std::erase(above->children, index); }
  erase(index, release);
}

void journal::erase(std::uint32_t index, release_image release) noexcept {
  auto const found = entries_.find(index);
  if (found == entries_.end()) { return; }
  journal_entry const one = std::move(found->second);
  entries_.erase(found);
  if (!one.once.empty()) { once_.erase(one.once); }
  if (one.image != nullptr) { release(one.image); }
  slot(index).store(0, std::memory_order_relaxed);
  free_.push_back(index);
  for (std::uint32_t const each : one.children) { erase(each, release); }
  if (one.kind != object_kind::graph_exec || one.made.uses.empty()) { return; }
  std::uint32_t const from = one.made.uses.front();
  journal_entry* const graph = find(from);
  if (graph != nullptr && --graph->users == 0 && !graph->is_open) { close(from, release); }
}

}  // namespace flotilla::isolated

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Changes that the next replay makes to the nodes of a recorded graph.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include <flotilla/kernel/launch.hpp>

#include <flotilla/detail/memory_command.hpp>
#include "base/access.hpp"

namespace flotilla::dispatch {

/// The action of a recorded task.
using recorded_action = std::variant<launch, detail::memory_command>;

/// Holds the latest action of each changed node, with its arguments. `clear` keeps the allocated
/// memory. Threads: one at a time.
class change_list {
 public:
  static constexpr std::uint32_t no_kernel = 0xffff'ffff;
  struct node_update {
    std::uint32_t node = 0;
    std::uint32_t kernel = no_kernel;  // no_kernel: the arguments are a memory_command
    std::uint32_t shared_bytes = 0;
    extent grid{}, block{};
    std::uint32_t offset = 0, bytes = 0;  // position and size of the arguments
    std::uint32_t capacity = 0;           // bytes reserved at `offset`
  };
  explicit change_list(std::size_t nodes) : place_(nodes, 0) {}

  void put(std::uint32_t node, launch const& what) {
    put({node, detail::access::kernel_index(what), what.dynamic_shared_bytes(), what.grid(),
         what.block(), 0, static_cast<std::uint32_t>(what.argument_bytes())},
        static_cast<std::byte const*>(what.arguments()));
  }
  void put(std::uint32_t node, detail::memory_command const& what) {
    static_assert(std::is_trivially_copyable_v<detail::memory_command>);
    put({.node = node, .bytes = sizeof what}, reinterpret_cast<std::byte const*>(&what));
  }
  /// Sets the change of `update.node`. Ignores `update.offset` and `update.capacity`.
  void put(node_update update, std::byte const* arguments);
  void put_all(change_list const& later) {
    for (node_update const& each : later.changes_) { put(each, later.arguments(each)); }
  }
  void clear() noexcept {
    for (node_update const& each : changes_) { place_[each.node] = 0; }
    changes_.clear();
    bytes_.clear();
  }
  [[nodiscard]] bool empty() const noexcept { return changes_.empty(); }
  [[nodiscard]] std::span<node_update const> changes() const noexcept { return changes_; }
  [[nodiscard]] std::byte const* arguments(node_update const& update) const noexcept {
    return bytes_.data() + update.offset;
  }

 private:
  std::vector<node_update> changes_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint32_t> place_;  // by node: 1 + index in changes_; 0: no change
};

/// The change lists of one graph, by index. Calls of recording::set fill one list. The next replay
/// takes this list and gives it back after the launch. Threads: any.
class change_lists {
 public:
  static constexpr std::uint32_t none = 0xffff'ffff;
  explicit change_lists(std::size_t nodes) : nodes_(nodes) {}

  /// Takes an empty list. Returns its index.
  [[nodiscard]] std::uint32_t take();
  [[nodiscard]] change_list& at(std::uint32_t index) const;
  void give_back(std::uint32_t index) noexcept;

 private:
  std::size_t nodes_;
  std::mutex mutable mutex_;
  std::vector<std::unique_ptr<change_list>> all_;
  std::vector<std::uint32_t> free_;
};

}  // namespace flotilla::dispatch

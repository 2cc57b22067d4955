// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The actions of recorded tasks: those of a whole recording, or those that the next replay changes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <flotilla/kernel/launch.hpp>

#include <flotilla/detail/memory_command.hpp>
#include "base/access.hpp"

namespace flotilla::dispatch {

/// Holds the latest action of each changed task, with its arguments. `clear` keeps the allocated
/// memory. Threads: one at a time.
class change_list {
 public:
  static constexpr std::uint32_t no_kernel = 0xffff'ffff;
  struct change {
    std::uint32_t task = 0;
    std::uint32_t kernel = no_kernel;  // no_kernel: the arguments are a memory_command
    std::uint32_t shared_bytes = 0;
    extent grid{}, block{};
    std::uint32_t bytes = 0;     // size of the arguments
    std::uint32_t capacity = 0;  // bytes reserved at `offset`
    std::size_t offset = 0;      // position of the arguments
  };
  /// @param tasks  The list has room for this number of tasks, and grows if a task is greater.
  explicit change_list(std::size_t tasks) : place_(tasks, 0) {}

  void put(std::uint32_t task, launch const& what) {
    put({task, detail::access::kernel_index(what), what.dynamic_shared_bytes(), what.grid(),
         what.block(), static_cast<std::uint32_t>(what.argument_bytes())},
        static_cast<std::byte const*>(what.arguments()));
  }
  void put(std::uint32_t task, detail::memory_command const& what) {
    static_assert(std::is_trivially_copyable_v<detail::memory_command>);
    put({.task = task, .bytes = sizeof what}, reinterpret_cast<std::byte const*>(&what));
  }
  /// Sets the change of `made.task`. Ignores `made.offset` and `made.capacity`. If the call throws,
  /// the list is unchanged.
  void put(change made, std::byte const* arguments);
  void put_all(change_list const& later) {
    for (change const& each : later.changes_) { put(each, later.arguments(each)); }
  }
  void reserve(std::size_t changes, std::size_t bytes) {
    changes_.reserve(changes);
    bytes_.reserve(bytes);
  }
  void clear() noexcept {
    for (change const& each : changes_) { place_[each.task] = 0; }
    changes_.clear();
    bytes_.clear();
  }
  [[nodiscard]] bool empty() const noexcept { return changes_.empty(); }
  [[nodiscard]] std::span<change const> changes() const noexcept { return changes_; }
  /// Returns the change of a task. The list must have one.
  [[nodiscard]] change const& of(std::uint32_t task) const noexcept {
    return changes_[place_[task] - 1];
  }
  [[nodiscard]] std::byte const* arguments(change const& of) const noexcept {
    return bytes_.data() + of.offset;
  }
  /// Returns the copy or fill of a change, or nothing if the change is a launch.
  [[nodiscard]] static std::optional<detail::memory_command> command(
      change const& of, std::byte const* arguments) noexcept;

 private:
  std::vector<change> changes_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint32_t> place_;  // by task: 1 + index in changes_; 0: no change
};

/// The change lists of one graph, by index. Calls of recording::set fill one list. The next replay
/// takes this list and gives it back after the launch. Threads: any.
class change_lists {
 public:
  static constexpr std::uint32_t none = 0xffff'ffff;
  explicit change_lists(std::size_t tasks) : tasks_(tasks) {}

  /// Takes an empty list. Returns its index.
  [[nodiscard]] std::uint32_t take();
  [[nodiscard]] change_list& at(std::uint32_t index) const;
  void give_back(std::uint32_t index) noexcept;

 private:
  std::size_t tasks_;
  std::mutex mutable mutex_;
  std::vector<std::unique_ptr<change_list>> all_;
  std::vector<std::uint32_t> free_;
};

}  // namespace flotilla::dispatch

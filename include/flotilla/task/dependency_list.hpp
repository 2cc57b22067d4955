// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The predecessors of a task.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include <flotilla/detail/access.hpp>
#include <flotilla/task/task_id.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

/// A list of tasks, which are given as tickets or ids. `after`, wait_any and when_all take such a
/// list. In `recorded_options::after` the list has recorded tasks instead.
///
/// Threads: same rules as for a std::vector. Cost: a list of more than 4 tasks allocates memory.
class dependency_list {
 public:
  /// The type to which tickets, ids and recorded tasks convert.
  struct item {
    item(ticket const& task) noexcept : id{task.id()} {}
    item(task_id task) noexcept : id{task} {}
    item(recorded_task task) noexcept : id{id_of(task)} {}
    task_id id;
  };

  dependency_list() noexcept = default;
  dependency_list(std::initializer_list<item> items) {
    for (item const& each : items) { add(each); }
  }
  /// Makes a list from a range of tickets, ids or recorded tasks.
  template <std::ranges::input_range Range>
  requires(!std::same_as<std::remove_cvref_t<Range>, dependency_list> &&
           std::convertible_to<std::ranges::range_reference_t<Range>, item>)
      dependency_list(Range&& tasks) {
    for (auto&& each : tasks) { add(each); }
  }

  void add(item const& task) {
    if (size_ < inline_size) {
      first_[size_] = task.id;
    } else {
      if (size_ == inline_size) { all_.assign(first_.begin(), first_.end()); }
      all_.push_back(task.id);
    }
    ++size_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] task_id operator[](std::size_t i) const noexcept { return ids()[i]; }
  [[nodiscard]] std::span<task_id const> ids() const noexcept {
    return {size_ <= inline_size ? first_.data() : all_.data(), size_};
  }

 private:
  friend struct detail::access;
  static constexpr std::size_t inline_size = 4;
  // This bit is set in task_id::runtime if the id names a task of a recording.
  static constexpr std::uint64_t recording_bit = std::uint64_t{1} << 63;

  [[nodiscard]] static task_id id_of(recorded_task task) noexcept {
    return {task.recording_ == 0 ? 0 : task.recording_ | recording_bit, task.index_, 0};
  }

  std::size_t size_ = 0;
  std::array<task_id, inline_size> first_;
  std::vector<task_id> all_;  // all entries if there are more than inline_size, else unused
};

}  // namespace v0_1
}  // namespace flotilla

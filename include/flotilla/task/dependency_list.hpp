// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The predecessors of a task.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include <flotilla/detail/access.hpp>
#include <flotilla/task/task_id.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

/// A list of tasks, which are given as tickets or ids. `after` and wait_any take such a list. In
/// `recorded_options::after` the list has recorded tasks instead.
///
/// Threads: same rules as for a std::vector. Cost: a list of more than 8 tasks allocates memory.
class dependency_list {
 public:
  /// The type to which tickets, ids and recorded tasks convert.
  struct item {
    item(ticket const& task) noexcept : id{task.id()} {}
    item(task_id task) noexcept : id{task} {}
    item(recorded_task task) noexcept : id{id_of(task)} {}
    task_id id;
  };

  // Not constexpr: g++ makes an empty constexpr list by setting the whole object to zeros, even the
  // memory of the ids.
  dependency_list() noexcept {}
  dependency_list(dependency_list const& other) : size_{other.size_}, all_{other.all_} {
    copy_first(other);
  }
  dependency_list& operator=(dependency_list const& other) {
    all_ = other.all_;  // may throw, so it is first
    size_ = other.size_;
    copy_first(other);
    return *this;
  }
  [[gnu::always_inline]] constexpr ~dependency_list() {}
  /// Makes a list of tickets, ids and recorded tasks: `{a, b.id(), c}`. This is no constructor from
  /// an initializer_list, because g++ 12 cannot compile such a list in a co_await expression.
  template <class... Tasks>
  requires(sizeof...(Tasks) > 0 && (std::convertible_to<Tasks const&, item> && ...))
      dependency_list(Tasks const&... tasks) {
    (add(item(tasks)), ...);
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
      first_.ids[size_] = task.id;
    } else {
      if (size_ == inline_size) { all_.assign(first_.ids); }
      all_.push_back(task.id, size_);
    }
    ++size_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] task_id operator[](std::size_t i) const noexcept { return ids()[i]; }
  [[nodiscard]] std::span<task_id const> ids() const noexcept {
    return {size_ <= inline_size ? first_.ids : all_.data(), size_};
  }

 private:
  friend struct detail::access;
  struct constant {};
  constexpr explicit dependency_list(constant) noexcept {}

  static constexpr std::size_t inline_size = 8;
  // This bit is set in task_id::runtime if the id names a task of a recording.
  static constexpr std::uint64_t recording_bit = std::uint64_t{1} << 63;

  [[nodiscard]] static task_id id_of(recorded_task task) noexcept {
    return {task.recording_ == 0 ? 0 : task.recording_ | recording_bit, task.index_, 0};
  }

  void copy_first(dependency_list const& other) noexcept {
    std::copy_n(other.first_.ids, std::min(size_, inline_size), first_.ids);
  }

  /// An array that grows. In a co_await expression, g++ 12 copies a temporary list bit by bit into
  /// the task_options and later destroys both objects. So the array frees its memory only if it is
  /// the object that allocated the memory.
  class id_array {
   public:
    id_array() noexcept = default;
    id_array(id_array const& other) : size_{other.size_} {
      if (size_ == 0) { return; }
      ids_ = new task_id[size_];
      owner_ = this;
      std::copy_n(other.ids_, size_, ids_);
    }
    id_array& operator=(id_array other) noexcept {
      if (owner_ == this) { delete[] ids_; }
      ids_ = std::exchange(other.ids_, nullptr);
      size_ = std::exchange(other.size_, 0);
      owner_ = this;
      return *this;
    }
    [[gnu::always_inline]] constexpr ~id_array() {
      if (owner_ == this) { delete[] ids_; }
    }
    [[nodiscard]] task_id const* data() const noexcept { return ids_; }
    void assign(task_id const (&first)[inline_size]) {
      for (std::size_t i = 0; i < inline_size; ++i) { push_back(first[i], i); }
    }
    /// Adds an entry behind the first `used` entries.
    void push_back(task_id id, std::size_t used) {
      if (used >= size_) {
        auto* const larger = new task_id[2 * used + 8];
        std::copy_n(ids_, used, larger);
        if (owner_ == this) { delete[] ids_; }
        ids_ = larger;
        size_ = 2 * used + 8;
        owner_ = this;
      }
      ids_[used] = id;
    }

   private:
    task_id* ids_ = nullptr;
    std::size_t size_ = 0;             // how many entries fit
    id_array const* owner_ = nullptr;  // null: no memory was allocated
  };

  /// The first entries. It is a union, so that an empty list need not initialize them.
  union first_ids {
    constexpr first_ids() noexcept : none{} {}
    std::byte none;
    task_id ids[inline_size];
  };

  std::size_t size_ = 0;
  first_ids first_;
  id_array all_;  // all entries if there are more than inline_size, else unused
};

}  // namespace v0_1
}  // namespace flotilla

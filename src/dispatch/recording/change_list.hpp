#pragma once
// What nodes of a recorded graph are to hold from a replay on.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include <flotilla/launch.hpp>
#include <flotilla/transfer.hpp>

namespace flotilla::dispatch {

/// What a recorded task does.
using recorded_action = std::variant<launch, transfer>;

/// Actions by node, the latest of each, with their arguments. What it once had room for it does not allocate again.
class change_list {
 public:
  static constexpr std::uint32_t no_kernel = 0xffff'ffff;
  struct change {
    std::uint32_t node = 0;
    std::uint32_t kernel = no_kernel;  // of a launch; no_kernel: the arguments are a transfer
    std::uint32_t shared_bytes = 0;
    extent grid{}, block{};
    std::uint32_t at = 0, bytes = 0;   // of the arguments
    std::uint32_t room = 0;            // bytes, from `at` on
  };
  explicit change_list(std::size_t nodes) : place_(nodes, 0) {}

  void put(std::uint32_t node, launch const& what) {
    put({node, what.kernel_index(), what.dynamic_shared_bytes(), what.grid(), what.block(), 0,
         static_cast<std::uint32_t>(what.argument_bytes())},
        static_cast<std::byte const*>(what.arguments()));
  }
  void put(std::uint32_t node, transfer const& what) {
    static_assert(std::is_trivially_copyable_v<transfer>);
    put({.node = node, .bytes = sizeof what}, reinterpret_cast<std::byte const*>(&what));
  }
  /// `what.at` and `what.room` do not count.
  void put(change what, std::byte const* arguments);
  void put_all(change_list const& later) {
    for (change const& each : later.changes_) { put(each, later.arguments(each)); }
  }
  void clear() noexcept {
    for (change const& each : changes_) { place_[each.node] = 0; }
    changes_.clear();
    bytes_.clear();
  }
  [[nodiscard]] bool empty() const noexcept { return changes_.empty(); }
  [[nodiscard]] std::span<change const> changes() const noexcept { return changes_; }
  [[nodiscard]] std::byte const* arguments(change const& of) const noexcept { return bytes_.data() + of.at; }

 private:
  std::vector<change> changes_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint32_t> place_;  // of each node: 1 + where in changes_; 0: it has none
};

/// The change lists of one graph, by index: one that `set` writes to, one for each replay that is under way.
class change_lists {
 public:
  static constexpr std::uint32_t none = 0xffff'ffff;
  explicit change_lists(std::size_t nodes) : nodes_(nodes) {}

  /// An empty one.
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

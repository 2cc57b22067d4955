// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of data and tokens.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/detail/allocation.hpp>
#include <flotilla/detail/data_use.hpp>
#include <flotilla/task/task_id.hpp>

#include "flows/data/datum_shape.hpp"
#include "flows/data/rank_copies.hpp"
#include "flows/data/writer_table.hpp"

namespace flotilla::flows {

class flow_state;

/// Returns whether a task needs the contents of the data at its place. A use that reduces data is
/// replaced (reducer) before this matters.
[[nodiscard]] constexpr bool needs_contents(detail::access_mode mode) noexcept {
  return mode == detail::access_mode::read || mode == detail::access_mode::update ||
         mode == detail::access_mode::commute;
}

/// The host, or a device.
class place {
 public:
  [[nodiscard]] static constexpr place host() noexcept { return place{0}; }
  [[nodiscard]] static constexpr place of(device_ordinal device) noexcept {
    return place{device.value + 1};
  }
  [[nodiscard]] static constexpr place at(std::size_t index) noexcept {
    return place{static_cast<unsigned>(index)};
  }
  [[nodiscard]] constexpr bool is_host() const noexcept { return index_ == 0; }
  [[nodiscard]] constexpr device_ordinal device() const noexcept {
    return device_ordinal{index_ - 1};
  }
  /// Returns 0 for the host, and 1 + the ordinal for a device.
  [[nodiscard]] constexpr std::size_t index() const noexcept { return index_; }
  bool operator==(place const&) const = default;

 private:
  explicit constexpr place(unsigned index) noexcept : index_{index} {}
  unsigned index_;
};

/// Memory of a flow at one place. If the flow did not allocate it, `owned` is empty.
struct block {
  std::uintptr_t address = 0;
  detail::kernel_reach reach = detail::kernel_reach::nowhere;
  detail::host_memory kind = detail::host_memory::mapped;  // if the place is the host
  detail::allocation owned{};
  /// Tasks that may still use the memory for other data.
  std::vector<task_id> last_users{};
  [[nodiscard]] bool exists() const noexcept { return address != 0; }
  /// Returns whether the flow has allocated the memory for these data.
  [[nodiscard]] bool is_of_flow() const noexcept { return owned.range().address() != 0; }
};

/// One copy of data: its memory at one place, and the tasks that use this memory.
///
/// - A task that reads the copy runs after `filled`, the task that gave the memory its contents.
/// - A task that overwrites the memory runs after `filled` and after all `users`, which read it.
/// - If tasks commute on the copy, such tasks run after all of `commuting` instead of `filled`. The
///   commuting tasks run after `filled`, in an order that their device decides.
struct replica {
  static constexpr std::size_t max_commuting = 8;

  block memory{};
  bool is_valid = false;         // holds the newest version, or will when its writers have ended
  writer* filled = nullptr;      // null: nothing to wait for
  std::vector<task_id> users{};  // tasks that were submitted after `filled` and `commuting`
  std::vector<writer*> commuting{};
  std::uint32_t turn = 0;           // of the tasks that commute; 0: no task has commuted yet
  std::size_t commuting_place = 0;  // a token has one replica for all places
  std::size_t max_users = 16;       // if there are more users, remove those that have ended
  /// If every copy between devices took one unit of time: when this copy exists and can be the
  /// source of a further one. The time begins when the data are written.
  unsigned next_copy = 0;

  static constexpr std::size_t not_resident = static_cast<std::size_t>(-1);
  std::size_t position = not_resident;  // in the resident_ring of the place
  bool was_used = false;                // since the hand of the ring has passed

  /// Returns the number of tasks in both lists of users of the memory.
  [[nodiscard]] std::size_t user_count() const noexcept {
    return users.size() + memory.last_users.size();
  }
  /// Returns the writer that was submitted last. Null: nothing to wait for.
  [[nodiscard]] writer* last_writer() const noexcept {
    return commuting.empty() ? filled : commuting.back();
  }
};

/// The tiles into which data are divided. While a tile exists, tasks cannot use the whole data.
/// When all tiles have ended, the next use of the whole data joins them (tiler).
struct partition {
  // At this place, the memory of a tile is a part of the memory of the whole data. At other places,
  // tiles have memory of their own, and the whole data have none.
  place where = place::host();
  std::size_t open = 0;                                 // tiles that exist
  std::vector<std::unique_ptr<detail::datum>> ended{};  // tiles whose contents are not joined yet
  std::unique_ptr<detail::datum> orphan{};  // the whole data, if they ended before their tiles
};

/// Results of tasks that reduce data, until they are combined (reducer).
struct open_reduction {
  detail::reduction const* how = nullptr;
  bool has_results = false;     // whether a task was submitted that reduces the data
  std::optional<place> home{};  // where such tasks update the data themselves
  bool only_identity = false;   // nothing but the fill for such a task has written the data
  std::vector<std::unique_ptr<detail::datum>> partials{};  // by place::index; null if there is none

  /// Returns whether there is a partial result with contents.
  [[nodiscard]] bool has_partials() const noexcept;
};

}  // namespace flotilla::flows

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// The state of data or of a token. The flow's mutex guards all members that are not const.
class datum {
 public:
  /// @param shape  Without bytes for a token.
  datum(std::shared_ptr<flows::flow_state> of, std::string text, flows::datum_shape const& extents,
        std::size_t places)
      : owner(std::move(of)),
        label(std::move(text)),
        shape(extents),
        bytes(extents.bytes()),
        replicas(places) {}

  [[nodiscard]] bool is_token() const noexcept { return bytes == 0; }
  /// Returns the copy at a place. A token has one replica, without memory.
  [[nodiscard]] flows::replica& at(flows::place where) noexcept {
    return replicas[is_token() ? 0 : where.index()];
  }
  /// Returns "data 'label'" or "token 'label'".
  [[nodiscard]] std::string text() const {
    return std::string{is_token() ? "token" : "data"} +
           (label.empty() ? " without a label" : " '" + label + "'");
  }

  /// Returns whether a place other than `where` has a valid copy.
  [[nodiscard]] bool is_valid_elsewhere(flows::place where) const noexcept {
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      if (i != where.index() && replicas[i].is_valid) { return true; }
    }
    return false;
  }

  /// Returns whether a task may read the data.
  [[nodiscard]] bool has_value() const noexcept {
    if (reduction == nullptr) { return has_contents; }
    return reduction->has_results || (has_contents && !reduction->only_identity);
  }
  /// Returns whether the copy at a place has the contents, or will have them after the tasks that
  /// were submitted. Partial results and tiles must be combined first: tiles are valid where all of
  /// them are in the memory of the whole data.
  [[nodiscard]] bool is_valid_at(flows::place where) const noexcept;
  /// Returns whether tiles of the data exist.
  [[nodiscard]] bool is_divided() const noexcept { return tiles != nullptr && tiles->open != 0; }
  /// Returns whether the memory at a place is a part of the memory of `whole`.
  [[nodiscard]] bool is_inside_whole(flows::place where) const noexcept {
    return whole != nullptr && whole->tiles->where == where;
  }
  /// Returns the distances between rows and planes in the memory at a place.
  [[nodiscard]] memory_pitch pitch_at(flows::place where) const noexcept {
    return is_inside_whole(where) ? shape.normalized(whole->pitch_at(where)) : shape.dense();
  }
  [[nodiscard]] bool is_dense_at(flows::place where) const noexcept {
    return pitch_at(where) == shape.dense();
  }

  std::shared_ptr<flows::flow_state> const owner;
  std::string const label;
  flows::datum_shape const shape;
  std::size_t const bytes;    // 0 for a token
  bool has_contents = false;  // whether a task or the application has written them
  // Whether the newest contents are brought to the memory of the program when the data end.
  bool is_written_back = false;
  std::vector<flows::replica> replicas;  // by place::index
  // If the data are a tile: the whole data, and the index of the first object of the tile.
  datum* whole = nullptr;
  flows::triple first{};
  std::unique_ptr<flows::partition> tiles;           // null: the data are not divided
  std::unique_ptr<flows::open_reduction> reduction;  // null: nothing is to be combined
  std::unique_ptr<flows::rank_copies> ranks;         // null: the flow has no cluster
};

inline bool datum::is_valid_at(flows::place where) const noexcept {
  if ((reduction != nullptr && reduction->has_partials()) || is_token()) { return false; }
  if (tiles == nullptr) { return replicas[where.index()].is_valid; }
  return !is_divided() && tiles->where == where &&
         std::all_of(tiles->ended.begin(), tiles->ended.end(),
                     [&](auto const& each) { return each->is_valid_at(where); });
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla

namespace flotilla::flows {

inline bool open_reduction::has_partials() const noexcept {
  return std::any_of(partials.begin(), partials.end(),
                     [](auto const& each) { return each != nullptr && each->has_contents; });
}

}  // namespace flotilla::flows

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Logical data: arrays that a flow keeps where tasks need them.

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <flotilla/data/view.hpp>
#include <flotilla/detail/data_use.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/memory/device_buffer.hpp>
#include <flotilla/memory/host_buffer.hpp>
#include <flotilla/memory/host_span.hpp>

namespace flotilla {
inline namespace v0_1 {

class flow;
template <class T, int Rank>
class tile_array;

namespace detail {

/// Returns a view of the objects at a place.
template <class Element, int Rank>
[[nodiscard]] view<Element, Rank> make_view(
    std::array<std::size_t, std::size_t{Rank}> const& extents, placed_data const& at) noexcept {
  view<Element, Rank> made{};
  made.data = static_cast<Element*>(at.address);
  made.pitch = Rank == 1 ? extents[0] : at.pitch.row / sizeof(Element);
  for (std::size_t i = 0; i < Rank; ++i) { made.extents[i] = extents[i]; }
  if constexpr (Rank == 3) { made.plane_pitch = at.pitch.plane / sizeof(Element); }
  return made;
}

}  // namespace detail

/// An array of objects that has copies in the memory of the host and of devices. The flow knows
/// which copies are valid. Before a task of the flow runs, the flow copies the data to the memory
/// where the task needs them, if there is no valid copy. A task that writes the data makes all
/// other copies invalid.
///
/// Threads   Same rules as for a std::vector. In addition, several threads may submit tasks that
///           use the same data.
/// Lifetime  If the data were made from memory of the host, the destructor writes back: it waits
///           for the tasks that change the data, and copies the newest contents to this memory. If
///           the contents are lost because a task failed, nothing is copied (of divided data,
///           nothing of the lost tiles). Inside a callable or host task, and if the copy cannot be
///           submitted, for example to a closed runtime, there is only a message on stderr.
///           `set_write_back(false)` switches the write-back off. Data of a flow over several
///           ranks, and data that were made from a device_buffer, are not written back.
///           Tasks that were submitted before still use the data, and then the memory is freed. The
///           destructor waits for nothing but the write-back, and for tasks and copies that use
///           pageable memory of the program from which the data were made. Inside a task on which
///           they depend it cannot wait, and reports this on stderr. The flow keeps its state until
///           its last data are gone, but data must end before the runtime.
///
/// A moved-from `data` can only be assigned to or destroyed. Using it throws invalid_argument.
template <class T, int Rank = 1>
class data {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "data holds trivially copyable objects, and tasks may write them");

 public:
  using value_type = T;
  using extents_type = std::array<std::size_t, std::size_t{Rank}>;

  data() noexcept = default;

  /// Makes data whose first valid copy is `host`. The flow uses this memory as its copy on the host
  /// and never frees it. Between this call and `host()`, only tasks may use the memory.
  /// @param host     All objects, in row-major order. Copies from and to this memory are staged.
  /// @param extents  The number of objects in each dimension.
  /// @param label    Names the data in error texts. The flow copies it.
  /// @throws invalid_argument  The extents do not match the number of objects, or are zero.
  /// Lifetime  `host` must exist until the data have ended, and until their tiles have ended.
  data(flow& owner, std::span<T> host, extents_type const& extents, std::string_view label = {})
      : state_{detail::make_datum(
            owner, {host.data(), host.size(), sizeof(T), extents, detail::host_memory::pageable},
            label)},
        extents_{extents} {}
  data(flow& owner, std::span<T> host, std::string_view label = {}) requires(Rank == 1)
      : data{owner, host, {host.size()}, label} {}
  /// The same for pinned memory, which devices copy faster. The destructor of the data waits only
  /// for the write-back, because the runtime frees `host` only behind the tasks that use it.
  data(flow& owner, host_buffer<T>& host, extents_type const& extents, std::string_view label = {})
      : state_{detail::make_datum(
            owner, {host.data(), host.size(), sizeof(T), extents, detail::host_memory::mapped},
            label)},
        extents_{extents} {}
  data(flow& owner, host_buffer<T>& host, std::string_view label = {}) requires(Rank == 1)
      : data{owner, host, {host.size()}, label} {}
  /// The same for a part of pinned memory. Pinned memory of the program (view_pinned_memory) must
  /// also stay pinned until the tasks have ended that use the data: the destructor does not wait
  /// for tasks that only read them, so call runtime::wait_idle after it.
  data(flow& owner, host_span<T> host, extents_type const& extents, std::string_view label = {})
      : state_{detail::make_datum(
            owner, {host.data(), host.size(), sizeof(T), extents, detail::range_access::kind(host)},
            label)},
        extents_{extents} {}
  data(flow& owner, host_span<T> host, std::string_view label = {}) requires(Rank == 1)
      : data{owner, host, {host.size()}, label} {}

  template <std::integral Count>
  data(flow&, Count, std::string_view = {}) = delete;  // write the extents in braces: {count}

  /// Makes data without a valid copy. A task must write them before a task may read them.
  /// @throws invalid_argument  An extent is zero, or the objects need more than PTRDIFF_MAX bytes.
  data(flow& owner, extents_type const& extents, std::string_view label = {})
      : state_{detail::make_datum(
            owner, {nullptr, std::nullopt, sizeof(T), extents, detail::host_memory::pageable},
            label)},
        extents_{extents} {}

  /// Makes data whose first valid copy is `buffer`. The flow uses this memory as its copy on the
  /// device and never frees it.
  /// @throws invalid_argument  The extents do not match the number of objects, or are zero.
  /// @throws wrong_runtime     The buffer belongs to another runtime.
  /// Lifetime  `buffer` must exist until the data have ended.
  data(flow& owner, device_buffer<T>& buffer, extents_type const& extents,
       std::string_view label = {})
      : state_{detail::make_datum(owner, detail::range_access::range(buffer), sizeof(T), extents,
                                  label)},
        extents_{extents} {}
  data(flow& owner, device_buffer<T>& buffer, std::string_view label = {}) requires(Rank == 1)
      : data{owner, buffer, {buffer.size()}, label} {}

  /// Divides the data into disjoint tiles. Each tile is data of its own: tasks that use different
  /// tiles have no order with each other. Tiles at the end of a dimension are smaller if the
  /// extents are not multiples of the tile. While a tile exists, the whole data cannot be used.
  /// After the last tile was destroyed, the next use of the data joins the tiles: it copies those
  /// tiles back whose newest version is elsewhere. If a tile has no contents then, the data have
  /// none either. The data may be destroyed before the tiles. Then memory of the program from which
  /// the data were made must exist until the tiles were destroyed.
  ///
  /// At one place, tiles are parts of the memory that the data have: on the host if the copy there
  /// is valid or no copy is, else on a device with a valid copy. There, neighbouring rows of a tile
  /// are as far apart as those of the data, so a kernel needs a view for them. At all other places
  /// tiles have memory without gaps, and the memory of the whole data is given back.
  /// Include <flotilla/data/tile_array.hpp> or <flotilla/data/flow.hpp>.
  /// @throws invalid_argument  An extent is zero, or tiles of the data exist.
  /// Blocks  as flow::submit does. Copies nothing, unless earlier tiles must be joined first.
  /// Cost: a few allocations for each tile.
  ///
  /// In a flow over several ranks, `owner` says which rank owns each tile. Collective.
  /// Contents that the data have move to the owners of the tiles. After the tiles have ended, the
  /// next task that uses the whole data, or `collect`, brings them back to the owner of the data.
  /// @param owner  `blocks(all)` or `cyclic(all)` (<flotilla/cluster/distribution.hpp>), or a
  ///               function of the index of a tile that returns its rank: int(extents_type const&
  ///               index), or int(extents_type const& index, extents_type const& number_of_tiles).
  /// @throws invalid_argument  Also if a rank is not in the cluster. @throws rank_failed
  template <class Owner = std::nullptr_t>
  [[nodiscard]] tile_array<T, Rank> tiles(extents_type const& tile, Owner const& owner = {});

  /// Returns the rank that owns the data. Data that are made in a flow over several ranks belong to
  /// rank 0. If they are made from memory of the program, every rank must pass memory of this size:
  /// on ranks that do not own the data it is only memory for copies.
  [[nodiscard]] int owner() const { return detail::rank_of_owner(*checked()); }
  /// Makes another rank the owner, which gets the contents. Collective.
  /// @throws invalid_argument  There is no such rank, or the data are divided. @throws rank_failed
  void set_owner(int rank) { detail::set_owner(*checked(), rank); }
  /// Makes the owner of the data the only rank that has them. Collective.
  /// - Tiles that have ended are brought to the owner, so that it can call `host`.
  /// - Copies on other ranks end, which these would otherwise keep until a task changes the data,
  ///   or the data end. Their memory serves other data of the flow as soon as the tasks that use it
  ///   have ended. This needs no message. If a task reads the data later, they are sent again.
  /// Does nothing in a flow without a cluster.
  /// @throws invalid_argument  Tiles exist. @throws rank_failed
  void collect() { detail::collect(*checked()); }

  /// Says whether the destructor copies the newest contents to the memory of the host from which
  /// the data were made. It does, unless this is switched off. Has no effect on other data.
  /// @throws used_after_fork
  /// Blocks  never. Cost: a lock.
  void set_write_back(bool on) { detail::set_write_back(*checked(), on); }

  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }
  [[nodiscard]] extents_type const& extents() const noexcept { return extents_; }
  /// Returns the number of objects.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t product = 1;
    for (std::size_t const each : extents_) { product *= each; }
    return product;
  }

  /// Waits until the copy on the host is valid, and returns a view of it. Copies the data if
  /// necessary. Do not use the view after you have submitted a task that writes, updates or reduces
  /// the data, or after the data were destroyed. If the data are a tile, its rows may have a pitch.
  /// @throws invalid_argument   No task has written the data.
  /// @throws dependency_failed  The data are lost, because the task that should have written them
  ///                            failed. A later task that writes all of the data heals them.
  /// @throws invalid_argument   Another rank owns the data; the message names it.
  /// @throws rank_failed
  /// @throws would_deadlock, and the exceptions of runtime::submit
  /// Blocks  as ticket::wait does.
  [[nodiscard]] view<T const, Rank> host() {
    return detail::make_view<T const, Rank>(extents_, detail::wait_for_host(*checked(), false));
  }
  /// Like `host`, but the caller may change the objects, and may give the data their first
  /// contents. All other copies become invalid. The view may be used until the next task that uses
  /// the data is submitted. A flow over several ranks refuses it, because the other ranks would not
  /// learn of the change.
  [[nodiscard]] view<T, Rank> host_for_update() {
    return detail::make_view<T, Rank>(extents_, detail::wait_for_host(*checked(), true));
  }
  /// Starts to copy the data to the host, if the copy there is not valid. Does not wait for the
  /// copy. Blocks as flow::submit does.
  /// @throws the exceptions of `host`, except dependency_failed
  void prefetch_to_host() { detail::prefetch(*checked(), std::nullopt); }
  /// Starts to copy the data to a device, if the copy there is not valid. Does not wait for the
  /// copy. Blocks as flow::submit does.
  /// @throws unknown_device, and the exceptions of `host`, except dependency_failed
  void prefetch_to(device_ordinal device) { detail::prefetch(*checked(), device); }

  /// Returns whether a copy is, or will be after the submitted tasks, valid on the device.
  [[nodiscard]] bool is_valid_on(device_ordinal device) const {
    return detail::is_valid_on(*checked(), device);
  }
  [[nodiscard]] bool is_valid_on_host() const {
    return detail::is_valid_on(*checked(), std::nullopt);
  }

 private:
  friend struct detail::use_access;
  friend class tile_array<T, Rank>;
  [[nodiscard]] detail::datum* checked() const {
    if (state_ == nullptr) { detail::refuse_empty_data(); }
    return state_.get();
  }
  data(std::unique_ptr<detail::datum, detail::datum_deleter>&& state,
       extents_type const& extents) noexcept
      : state_{std::move(state)}, extents_{extents} {}

  std::unique_ptr<detail::datum, detail::datum_deleter> state_;
  extents_type extents_{};
};

/// Orders the tasks of a flow that use it, as data do, but has no memory.
class token {
 public:
  token() noexcept = default;
  /// @param label  Names the token in error texts. The flow copies it.
  explicit token(flow& owner, std::string_view label = {})
      : state_{detail::make_token(owner, label)} {}
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

 private:
  friend struct detail::use_access;
  std::unique_ptr<detail::datum, detail::datum_deleter> state_;
};

}  // namespace v0_1
}  // namespace flotilla

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The tiles of logical data.

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <flotilla/data/data.hpp>
#include <flotilla/detail/data_use.hpp>

namespace flotilla {
inline namespace v0_1 {

/// An array of tiles. `data::tiles` makes it:
///
///     auto tiles = matrix.tiles({512, 512});
///     flow.post(kernel.over(n)(read(tiles(0, 1)), update(tiles(1, 1))));
///
/// Threads   Same rules as for a std::vector.
/// Lifetime  The tiles end with the array, except those that were moved out of it. If the whole
///           data have ended before, the last tile waits as their destructor would.
template <class T, int Rank>
class tile_array {
 public:
  using tile_type = data<T, Rank>;
  using extents_type = typename tile_type::extents_type;

  tile_array() noexcept = default;

  /// Returns the number of tiles in each dimension.
  [[nodiscard]] extents_type const& extents() const noexcept { return extents_; }
  /// Returns the number of tiles.
  [[nodiscard]] std::size_t size() const noexcept { return tiles_.size(); }
  // All tiles, in row-major order.
  [[nodiscard]] auto begin() noexcept { return tiles_.begin(); }
  [[nodiscard]] auto end() noexcept { return tiles_.end(); }
  [[nodiscard]] auto begin() const noexcept { return tiles_.begin(); }
  [[nodiscard]] auto end() const noexcept { return tiles_.end(); }

  /// Returns the tile with these numbers, one for each dimension.
  /// @throws invalid_argument  There is no such tile.
  template <class... Index>
  [[nodiscard]] tile_type& operator()(Index... index) {
    static_assert(sizeof...(Index) == Rank, "a tile needs one number for each dimension");
    return tiles_[position({static_cast<std::size_t>(index)...})];
  }
  template <class... Index>
  [[nodiscard]] tile_type const& operator()(Index... index) const {
    static_assert(sizeof...(Index) == Rank, "a tile needs one number for each dimension");
    return tiles_[position({static_cast<std::size_t>(index)...})];
  }

 private:
  friend tile_type;
  /// Returns the number of tiles in each dimension.
  [[nodiscard]] static extents_type count(extents_type const& of, extents_type const& tile) {
    extents_type made{};
    for (std::size_t i = 0; i < Rank; ++i) {
      made[i] = tile[i] == 0 ? 0 : (of[i] - 1) / tile[i] + 1;
    }
    return made;
  }
  tile_array(detail::datum& whole, extents_type const& of, extents_type const& tile,
             std::vector<int> const& owners = {}) {
    auto made = detail::divide(whole, tile, owners);
    tiles_.reserve(made.size());
    extents_ = count(of, tile);
    extents_type number{};
    for (auto& each : made) {
      extents_type extents{};
      for (std::size_t i = 0; i < Rank; ++i) {
        extents[i] = std::min(tile[i], of[i] - number[i] * tile[i]);
      }
      tiles_.push_back(tile_type{std::move(each), extents});
      advance(number);
    }
  }
  /// Goes on to the next tile.
  void advance(extents_type& number) const noexcept {
    for (std::size_t i = Rank; i-- > 0;) {
      if (++number[i] < extents_[i]) { return; }
      number[i] = 0;
    }
  }
  [[nodiscard]] std::size_t position(extents_type const& index) const {
    std::size_t at = 0;
    for (std::size_t i = 0; i < Rank; ++i) {
      if (index[i] >= extents_[i]) { detail::refuse_tile(index, extents_); }
      at = at * extents_[i] + index[i];
    }
    if (at >= tiles_.size()) { detail::refuse_empty_data(); }  // the array was moved from
    return at;
  }

  std::vector<tile_type> tiles_;
  extents_type extents_{};
};

namespace detail {

/// Returns the rank that `owner` names for each tile, in row-major order.
template <std::size_t Rank, class Owner>
[[nodiscard]] std::vector<int> owners_of(std::array<std::size_t, Rank> const& count,
                                         Owner const& owner) {
  using index_type = std::array<std::size_t, Rank>;
  std::size_t all = 1;
  for (std::size_t const each : count) { all *= each; }
  std::vector<int> owners(all);
  index_type index{};
  for (int& each : owners) {
    if constexpr (std::is_invocable_r_v<int, Owner const&, index_type const&, index_type const&>) {
      each = owner(index, count);
    } else {
      each = owner(index);
    }
    for (std::size_t i = Rank; i-- > 0;) {
      if (++index[i] < count[i]) { break; }
      index[i] = 0;
    }
  }
  return owners;
}

}  // namespace detail

template <class T, int Rank>
template <class Owner>
tile_array<T, Rank> data<T, Rank>::tiles(extents_type const& tile, Owner const& owner) {
  if constexpr (std::is_same_v<Owner, std::nullptr_t>) {
    return {*checked(), extents_, tile};
  } else {
    return {*checked(), extents_, tile,
            detail::owners_of(tile_array<T, Rank>::count(extents_, tile), owner)};
  }
}

}  // namespace v0_1
}  // namespace flotilla

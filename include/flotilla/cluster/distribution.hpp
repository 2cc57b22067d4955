// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which rank owns which tile (data::tiles).

#include <array>
#include <cstddef>

#include <flotilla/cluster/cluster.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {
template <std::size_t Rank>
[[nodiscard]] constexpr std::size_t linear_index(
    std::array<std::size_t, Rank> const& index,
    std::array<std::size_t, Rank> const& count) noexcept {
  std::size_t made = 0;
  for (std::size_t i = 0; i < Rank; ++i) { made = made * count[i] + index[i]; }
  return made;
}
}  // namespace detail

/// Each rank owns tiles that follow each other in row-major order, about the same number of them:
///
///     auto bands = matrix.tiles({n / 16, n}, flotilla::blocks(all));
class blocks {
 public:
  explicit blocks(cluster const& all) : ranks_(static_cast<std::size_t>(all.ranks())) {}
  template <std::size_t Rank>
  [[nodiscard]] int operator()(std::array<std::size_t, Rank> const& index,
                               std::array<std::size_t, Rank> const& count) const noexcept {
    std::size_t all = 1;
    for (std::size_t const each : count) { all *= each; }
    return static_cast<int>(detail::linear_index(index, count) * ranks_ / all);
  }

 private:
  std::size_t ranks_;
};

/// The ranks own the tiles in turn, in row-major order.
class cyclic {
 public:
  explicit cyclic(cluster const& all) : ranks_(static_cast<std::size_t>(all.ranks())) {}
  template <std::size_t Rank>
  [[nodiscard]] int operator()(std::array<std::size_t, Rank> const& index,
                               std::array<std::size_t, Rank> const& count) const noexcept {
    return static_cast<int>(detail::linear_index(index, count) % ranks_);
  }

 private:
  std::size_t ranks_;
};

}  // namespace v0_1
}  // namespace flotilla

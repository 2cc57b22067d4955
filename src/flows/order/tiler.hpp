// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Divides data into tiles, and joins the tiles when they have ended.

#include <memory>
#include <span>
#include <vector>

#include "flows/copies/data_mover.hpp"
#include "flows/copies/residency.hpp"
#include "flows/data/datum.hpp"
#include "flows/data/obstacle.hpp"
#include "flows/order/reducer.hpp"

namespace flotilla::flows {

/// Tiles for the application. Destroying them needs the flow's mutex.
using tile_list = std::vector<std::unique_ptr<detail::datum, detail::datum_deleter>>;

/// At one place, the memory of a tile is a part of the memory of the whole data. So dividing copies
/// nothing there, and joining copies only those tiles whose newest version is elsewhere.
///
/// Threads: the caller holds the flow's mutex in all calls. No call waits.
class tiler {
 public:
  tiler(data_mover& mover, residency& residents, reducer& reductions) noexcept
      : mover_(mover), residents_(residents), reductions_(reductions) {}

  /// Divides data. Their tiles must have been joined.
  /// @param tile  The extents of a tile. Tiles at the end of a dimension may be smaller.
  /// @param made  Gets the tiles, in row-major order.
  [[nodiscard]] obstacle divide(detail::datum& whole, triple const& tile, tile_list& made);
  /// Makes data whose tiles have all ended usable again. Does nothing for other data.
  /// @param priority  The priority of the copies.
  [[nodiscard]] obstacle join(detail::datum& whole, int priority);
  /// Ends data. Returns the data that can be freed, if any: not the data themselves, if the
  /// contents of a tile are still needed, or if tiles of the data still exist. Call `release` for
  /// them.
  [[nodiscard]] std::unique_ptr<detail::datum> end(std::unique_ptr<detail::datum> which) noexcept;
  /// Takes the memory of data. Tasks may still use it.
  void release(detail::datum& which) noexcept;

 private:
  /// Makes a tile that shares the memory, the writer and the users of the whole data.
  [[nodiscard]] std::unique_ptr<detail::datum> make_tile(detail::datum& whole, triple const& number,
                                                         triple const& tile, place where);
  /// Makes the contents of some ended tiles valid in the memory of the whole data, and makes one
  /// task the writer of all of them.
  [[nodiscard]] obstacle gather(detail::datum& whole,
                                std::span<std::unique_ptr<detail::datum> const> tiles,
                                int priority);
  /// Takes the memory of an ended tile, and keeps the tasks that use the memory of the whole data.
  void absorb(detail::datum& whole, detail::datum& tile);
  void absorb_all(detail::datum& whole);

  data_mover& mover_;
  residency& residents_;
  reducer& reductions_;
};

}  // namespace flotilla::flows

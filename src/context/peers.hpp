// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access of devices to the memory of each other.

#include <cuda.h>

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "context/leased_context.hpp"
#include "driver/call_outcome.hpp"
#include "driver/table.hpp"

namespace flotilla::context {

/// Gives devices access to the memory pool from which cuMemAllocAsync allocates on the device `of`.
/// The access of contexts (cuCtxEnablePeerAccess) has no effect on pools. Makes one call for all
/// devices: a change of the access may take seconds if the pool already has much memory, and the
/// driver makes the changes of one call in parallel.
/// @param from  The driver's devices. None of them is `of`.
[[nodiscard]] driver::call_outcome open_pool(driver::table const& api, CUdevice of,
                                             std::span<CUdevice const> from);

/// Which devices of a runtime can access the memory of which others. Threads: any.
class peer_table {
 public:
  /// Enables the access of each ordered pair of devices, unless the setting "peer_access" of the
  /// accessing device is false. If the driver refuses, the pair has no access, and the table holds
  /// the reason. Leaves the access enabled at the end, because other code may rely on it. Leaves
  /// the calling thread's context stack unchanged. No other thread may use the contexts of `all`.
  /// @throws driver_error  A context cannot be made current.
  explicit peer_table(std::deque<leased_context> const& all);

  /// Whether device `from` can access the memory of device `to`. True if they are the same GPU.
  [[nodiscard]] bool reaches(unsigned from, unsigned to) const noexcept {
    return refusal(from, to).empty();
  }
  /// Returns the reason why `reaches` is false. Empty if it is true.
  [[nodiscard]] std::string const& refusal(unsigned from, unsigned to) const noexcept {
    return refusals_[std::size_t{from} * devices_ + to];
  }
  /// Returns a text that names each device whose memory `from` cannot access, with the reason.
  /// Empty if there is no such device.
  [[nodiscard]] std::string refusals_of(unsigned from) const;

 private:
  [[nodiscard]] std::string& at(unsigned from, unsigned to) noexcept {
    return refusals_[std::size_t{from} * devices_ + to];
  }
  void enable_contexts(std::deque<leased_context> const& all, unsigned from);
  void open_pools(std::deque<leased_context> const& all, unsigned to);

  unsigned const devices_;             // number of devices
  std::vector<std::string> refusals_;  // by from * devices_ + to; empty: access
};

}  // namespace flotilla::context

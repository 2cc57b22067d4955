// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Primary contexts, and which of them flotilla holds. The wait policy `automatic` counts contexts,
// also primary contexts that only other code holds.

#include <cuda.h>

#include "driver/table.hpp"

namespace flotilla::context {

/// As long as this object exists, flotilla holds the primary context of `device`, or a part of it.
class primary_holder {
 public:
  explicit primary_holder(CUdevice device) noexcept;
  ~primary_holder();
  primary_holder(primary_holder const&) = delete;
  primary_holder& operator=(primary_holder const&) = delete;

 private:
  CUdevice const device_;
};

/// Returns the number of active primary contexts that flotilla does not hold.
/// @param devices  The number of devices of the driver.
/// Cost: one driver call for each device. Threads: any.
[[nodiscard]] unsigned foreign_primaries(driver::table const& api, int devices) noexcept;

/// Returns the number of contexts in this process: those that flotilla holds, and active primary
/// contexts. Does not count contexts that other code created with cuCtxCreate, because the driver
/// does not list them.
/// @param enough  If the result cannot be above this number, the function makes no driver call and
///                returns a number that is not above it.
[[nodiscard]] unsigned contexts_in_process(driver::table const& api, int devices,
                                           unsigned enough) noexcept;

}  // namespace flotilla::context

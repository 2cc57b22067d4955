// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/context/primary.hpp"

#include <algorithm>

#include "cpu_driver/context/context.hpp"

namespace flotilla::cpu_driver {

CUresult primary::retain(CUcontext& retained) {
  std::lock_guard const lock(mutex_);
  if (handle_ == nullptr) {
    // A primary context always maps host memory, although cuDevicePrimaryCtxGetState() does not
    // report this flag.
    handle_ = context::create(home_, flags_ | CU_CTX_MAP_HOST, context_kind::primary);
  }
  ++retained_;
  retained = handle_;
  return CUDA_SUCCESS;
}

CUresult primary::release() {
  std::lock_guard const lock(mutex_);
  if (retained_ == 0) { return CUDA_ERROR_INVALID_CONTEXT; }
  if (--retained_ == 0) { destroy(); }
  return CUDA_SUCCESS;
}

CUresult primary::set_flags(unsigned flags) {
  if (!context_flags::valid(flags) || (flags & CU_CTX_MAP_HOST) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::lock_guard const lock(mutex_);
  flags_ = flags;
  if (auto const live = context::table().find(handle_)) { live->resources().flags.set(flags); }
  return CUDA_SUCCESS;
}

CUresult primary::reset() {
  std::lock_guard const lock(mutex_);
  // The application must still call release() once for each earlier retain(): destroy() subtracts
  // only the green contexts from `retained_`.
  destroy();
  return CUDA_SUCCESS;
}

void primary::state(unsigned& flags, bool& active) const {
  std::lock_guard const lock(mutex_);
  flags = flags_;
  active = handle_ != nullptr;
}

void primary::destroy() {
  if (auto const live = context::table().find(handle_)) {
    // Each green context has retained the primary context once, so `retained_` decreases by the
    // number of green contexts. Without max(), the result would be negative if the application had
    // released the context too often.
    retained_ = std::max(retained_ - live->end_parts(), 0);
  }
  if (handle_ != nullptr) { static_cast<void>(context::destroy(handle_)); }
  handle_ = nullptr;
  flags_ = 0;  // an H200 does the same: docs/results/h200-conformance.txt
}

}  // namespace flotilla::cpu_driver

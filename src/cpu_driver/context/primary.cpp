#include "cpu_driver/primary.hpp"

#include <algorithm>

#include "cpu_driver/context.hpp"
#include "cpu_driver/driver_state.hpp"

namespace flotilla::cpu_driver {

CUresult primary::retain(CUcontext& retained) {
  std::lock_guard const lock(mutex_);
  if (handle_ == nullptr) {
    // A primary context maps host memory, whatever it is asked for; its state does not say so.
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
  if (!context::valid_flags(flags) || (flags & CU_CTX_MAP_HOST) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::lock_guard const lock(mutex_);
  flags_ = flags;
  if (auto const live = driver_state::get().contexts().find(handle_)) { live->set_flags(flags); }
  return CUDA_SUCCESS;
}

CUresult primary::reset() {
  std::lock_guard const lock(mutex_);
  destroy();  // what retained it has to release it still
  return CUDA_SUCCESS;
}

void primary::state(unsigned& flags, bool& active) const {
  std::lock_guard const lock(mutex_);
  flags = flags_;
  active = handle_ != nullptr;
}

void primary::destroy() {
  if (auto const live = driver_state::get().contexts().find(handle_)) {
    // Each has retained it; what was released once too often was theirs.
    retained_ = std::max(retained_ - live->end_parts(), 0);
  }
  if (handle_ != nullptr) { static_cast<void>(context::destroy(handle_)); }
  handle_ = nullptr;
  flags_ = 0;  // as the transcript of a real driver shows
}

}  // namespace flotilla::cpu_driver

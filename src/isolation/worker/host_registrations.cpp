// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/worker/host_registrations.hpp"

namespace flotilla::isolated {

namespace {

/// Makes a context current for a block.
class current_here {
 public:
  current_here(driver::table const& api, CUcontext which) noexcept
      : api_(api), status_(api.ctx_push_current(which)) {}
  ~current_here() {
    CUcontext popped = nullptr;
    if (status_ == CUDA_SUCCESS) { api_.ctx_pop_current(&popped); }
  }
  current_here(current_here const&) = delete;
  current_here& operator=(current_here const&) = delete;
  [[nodiscard]] CUresult status() const noexcept { return status_; }

 private:
  driver::table const& api_;
  CUresult status_;
};

}  // namespace

CUresult host_registrations::enter(void* address, std::size_t bytes) {
  CUresult const answer = api_.mem_host_register(
      address, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  if (answer != CUDA_SUCCESS) { return answer; }
  // The owner passes the address to kernels as it is.
  CUdeviceptr seen = 0;
  CUresult const mapped = api_.mem_host_get_device_pointer(&seen, address, 0);
  bool const is_same = mapped == CUDA_SUCCESS && seen == reinterpret_cast<CUdeviceptr>(address);
  if (is_same) { return CUDA_SUCCESS; }
  api_.mem_host_unregister(address);
  return mapped != CUDA_SUCCESS ? mapped : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult host_registrations::enter_all() {
  current_here const now{api_, home_};
  if (now.status() != CUDA_SUCCESS) { return now.status(); }
  for (auto const& [address, bytes] : all_) {
    if (CUresult const answer = enter(address, bytes); answer != CUDA_SUCCESS) { return answer; }
  }
  return CUDA_SUCCESS;
}

CUresult host_registrations::add(void* address, std::size_t bytes) {
  std::lock_guard const lock{mutex_};
  if (all_.count(address) != 0) { return CUDA_SUCCESS; }
  if (home_ != nullptr) {
    current_here const now{api_, home_};
    CUresult const answer = now.status() != CUDA_SUCCESS ? now.status() : enter(address, bytes);
    if (answer != CUDA_SUCCESS) { return answer; }
  }
  all_[address] = bytes;
  return CUDA_SUCCESS;
}

void host_registrations::remove(void* address) {
  std::lock_guard const lock{mutex_};
  if (all_.erase(address) == 0 || home_ == nullptr) { return; }
  current_here const now{api_, home_};
  api_.mem_host_unregister(address);
}

CUresult host_registrations::add_context(CUcontext made) {
  std::lock_guard const lock{mutex_};
  contexts_.insert(made);
  if (home_ != nullptr) { return CUDA_SUCCESS; }
  home_ = made;
  return enter_all();
}

void host_registrations::remove_context(CUcontext ending) {
  std::lock_guard const lock{mutex_};
  contexts_.erase(ending);
  if (home_ != ending) { return; }
  {
    current_here const now{api_, home_};
    for (auto const& [address, unused] : all_) { api_.mem_host_unregister(address); }
  }
  home_ = contexts_.empty() ? nullptr : *contexts_.begin();
  if (home_ != nullptr) { static_cast<void>(enter_all()); }
}

}  // namespace flotilla::isolated

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/device_memory.hpp"

#include <utility>

#include "driver/check.hpp"

namespace flotilla::dispatch {

void device_memory::create() {
  driver::check(context_.api().stream_create(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
                context_.subject());
}

void device_memory::destroy() noexcept {
  if (stream_ != nullptr) { context_.api().stream_destroy(std::exchange(stream_, nullptr)); }
}

CUresult device_memory::allocate(std::size_t bytes, CUdeviceptr& address) {
  driver::table const& api = context_.api();
  if (CUresult const answer = api.mem_alloc_async(&address, bytes, stream_);
      answer != CUDA_SUCCESS) {
    return answer;
  }
  CUresult const answer = api.stream_synchronize(stream_);
  if (answer == CUDA_SUCCESS) {
    held_ += bytes;
  } else {
    api.mem_free_async(address, stream_);
  }
  return answer;
}

CUresult device_memory::free(CUdeviceptr address, std::size_t bytes) {
  held_ -= bytes;
  return context_.api().mem_free_async(address, stream_);
}

}  // namespace flotilla::dispatch

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lane/registered_memory.hpp"

#include <utility>

#include "base/memory_policy.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {
constexpr std::size_t page_bytes = 4096;  // the driver pins whole pages
}

registered_memory::registered_memory(context::context_handle const& context, std::size_t bytes)
    : context_(context) {
  bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  base::preferred_memory const near{context.host_node()};  // until the driver has pinned all pages
  host_ = base::mapped_memory{bytes};
  driver::table const& api = context.api();
  driver::check(api.mem_host_register(host_.data(), bytes,
                                      CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
                "cuMemHostRegister", context.subject());
  registered_ = true;
  if (CUresult const answer = api.mem_host_get_device_pointer(&device_, host_.data(), 0);
      answer != CUDA_SUCCESS) {
    unregister();
    driver::check(answer, "cuMemHostGetDevicePointer", context.subject());
  }
}

void registered_memory::unregister() noexcept {
  if (std::exchange(registered_, false)) { context_.api().mem_host_unregister(host_.data()); }
}

}  // namespace flotilla::dispatch

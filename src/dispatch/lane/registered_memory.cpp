// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lane/registered_memory.hpp"

#include <new>
#include <utility>

#include "base/memory_policy.hpp"
#include "driver/check.hpp"
#include "driver/device_recovery.hpp"

namespace flotilla::dispatch {

namespace {
constexpr std::size_t page_bytes = 4096;  // the driver pins whole pages
}

registered_memory::registered_memory(context::context_handle const& context, std::size_t bytes,
                                     users of)
    : context_(context) {
  bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  base::preferred_memory const near{context.host_node()};  // until the driver has pinned all pages
  driver::table const& api = context.api();
  driver::device_recovery* const from =
      of == users::all_devices && api.beside != nullptr ? api.beside : api.recovery;
  if (from != nullptr) {
    shared_ = {static_cast<std::byte*>(from->allocate_shared(bytes)), {from}};
    if (shared_ == nullptr) { throw std::bad_alloc{}; }
  } else {
    host_ = base::mapped_memory{bytes};
  }
  driver::check(api.mem_host_register(host(), bytes,
                                      CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
                "cuMemHostRegister", context.subject());
  registered_ = true;
  if (CUresult const answer = api.mem_host_get_device_pointer(&device_, host(), 0);
      answer != CUDA_SUCCESS) {
    unregister();
    driver::check(answer, "cuMemHostGetDevicePointer", context.subject());
  }
}

void registered_memory::shared_deleter::operator()(std::byte* memory) const noexcept {
  from->free_shared(memory);
}

void registered_memory::unregister() noexcept {
  if (std::exchange(registered_, false)) { context_.api().mem_host_unregister(host()); }
}

}  // namespace flotilla::dispatch

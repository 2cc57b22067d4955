// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/trace/nvtx_range.hpp"

// Some packages of the CUDA toolkit, such as NVIDIA's wheels, lack this header. Then there are no
// ranges.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define FLOTILLA_HAS_NVTX 1
#endif

namespace flotilla::dispatch {

#ifdef FLOTILLA_HAS_NVTX

void nvtx_range::attach() noexcept {
  // All runtimes of the process share the domain. NVTX returns null if no tool is attached.
  static nvtxDomainHandle_t const domain = nvtxDomainCreateA("flotilla");
  domain_.store(domain, std::memory_order_relaxed);
}

void nvtx_range::push(std::string const& text) noexcept {
  nvtxEventAttributes_t what{};
  what.version = NVTX_VERSION;
  what.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  what.messageType = NVTX_MESSAGE_TYPE_ASCII;
  what.message.ascii = text.c_str();
  nvtxDomainRangePushEx(static_cast<nvtxDomainHandle_t>(domain_.load(std::memory_order_relaxed)),
                        &what);
}

void nvtx_range::pop() noexcept {
  nvtxDomainRangePop(static_cast<nvtxDomainHandle_t>(domain_.load(std::memory_order_relaxed)));
}

#else

void nvtx_range::attach() noexcept {}
void nvtx_range::push(std::string const&) noexcept {}
void nvtx_range::pop() noexcept {}

#endif

}  // namespace flotilla::dispatch

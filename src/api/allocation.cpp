// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/detail/allocation.hpp>
#include <flotilla/runtime.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_registry.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace detail {

allocation::allocation(runtime& owner, places place, device_ordinal device, std::size_t bytes)
    : runtime_(access::impl(owner).number), place_(place) {
  runtime_impl& impl = access::impl(owner);
  dispatch::runtime_state& state = dispatch::runtime_state::of(impl);
  unsigned const index = state.valid.checked(device);
  std::uintptr_t address = 0;
  if (bytes != 0) {
    address = place == places::device ? state.memory.allocate(index, bytes)
                                      : state.memory.allocate_host(bytes);
  }
  range_ = device_range{&impl, device, address, bytes, kernel_reach::peers};
}

allocation::~allocation() {
  if (range_.address() == 0) { return; }
  using kinds = dispatch::epoch_reclaimer::kinds;
  bool const on_device = place_ == places::device;
  dispatch::runtime_state* const runtime = dispatch::runtime_registry::find_for_destructor(
      runtime_, on_device ? "a device_buffer" : "a host_buffer");
  if (runtime == nullptr) { return; }
  if (runtime->checks != nullptr && !runtime->usage.is_forked()) {
    runtime->checks->destroyed(range_.address(), range_.bytes());
  }
  runtime->memory.release(on_device ? kinds::device_memory : kinds::host_memory,
                          on_device ? range_.device().value : 0, range_.address(), range_.bytes());
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/interop.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include <flotilla/error/error.hpp>

#include "base/access.hpp"
#include "dispatch/check/memory_query.hpp"
#include "dispatch/check/text.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace detail {

namespace {

using dispatch::check_text::of_address;
using places = dispatch::memory_facts::places;

/// Returns what the driver knows about memory of the application.
/// @param view  The name of the public function, for messages.
/// @throws invalid_argument  The allocation has fewer than `bytes` bytes from `address` on.
dispatch::memory_facts ask(dispatch::runtime_state& state, unsigned device, char const* view,
                           std::uintptr_t address, std::size_t bytes) {
  state.usage.check_usable();
  dispatch::memory_query const query{*state.api()};
  dispatch::memory_facts facts;
  std::size_t left = 0;
  state.operations.run(device, [&](dispatch::device_driver&) {
    facts = query.ask(address);
    left = query.bytes_from(address);
  });
  if (bytes > left) {
    throw invalid_argument(std::string{view} + ": " + std::to_string(bytes) + " bytes at " +
                           of_address(address) + " do not fit into the allocation, which has " +
                           std::to_string(left) + " bytes from there");
  }
  return facts;
}

/// Returns whether kernels on the device can access pinned memory by its host address. Memory that
/// was registered, or is write-combined, may have another address on the device.
bool is_mapped(dispatch::runtime_state& state, unsigned device, std::uintptr_t address) {
  CUdeviceptr seen = 0;
  state.operations.run(device, [&](dispatch::device_driver& driver) {
    CUresult const answer = driver.context().api().mem_host_get_device_pointer(
        &seen, reinterpret_cast<void*>(address), 0);
    if (answer != CUDA_SUCCESS) { seen = 0; }
  });
  return seen == address;
}

/// Returns which kernels can access memory of the application. flotilla does not know the context
/// of the memory, so it does not know whether other devices have access.
kernel_reach reach_of(dispatch::runtime_state& state, unsigned device, std::uintptr_t address,
                      places place) {
  bool const has_access =
      place == places::device || (place == places::host && is_mapped(state, device, address));
  return has_access ? kernel_reach::own_device : kernel_reach::nowhere;
}

dispatch::lost_devices const& isolated_devices(dispatch::runtime_state& state) {
  return state.waits.with().shared.lost;
}

/// All devices need the kernel of the application.
/// @throws invalid_argument  A device of the runtime is isolated.
void refuse_isolated(dispatch::runtime_state& state) {
  dispatch::lost_devices const& lost = isolated_devices(state);
  if (!lost.any_isolated()) { return; }
  for (unsigned i = 0; i < state.devices.size(); ++i) {
    if (!lost.is_isolated(i)) { continue; }
    throw invalid_argument(
        "adopt_kernel: a kernel of the application is in this process, but device " +
        std::to_string(i) +
        " of the runtime is isolated: its context is in another process; load "
        "the code of the kernel with runtime::load");
  }
}

}  // namespace

device_range view_device_memory(runtime& owner, device_ordinal device, void const* memory,
                                std::size_t bytes) {
  runtime_impl& impl = access::impl(owner);
  dispatch::runtime_state& state = dispatch::runtime_state::of(impl);
  flotilla::device const& info = state.infos()[state.valid.checked(device)];
  auto const address = reinterpret_cast<std::uintptr_t>(memory);
  if (bytes == 0) { return {&impl, device, address, 0, kernel_reach::nowhere}; }
  auto const facts = ask(state, device.value, "view_device_memory", address, bytes);
  if (facts.place == places::unknown) {
    throw invalid_argument("view_device_memory: the driver does not know the memory at " +
                           of_address(address) +
                           "; it is pageable host memory, or it was freed; use device memory, "
                           "managed memory or pinned host memory");
  }
  if (facts.place == places::device && facts.device != info.driver_ordinal) {
    throw invalid_argument(
        "view_device_memory: the memory at " + of_address(address) + " is on the driver's device " +
        std::to_string(facts.device) + ", but device " + std::to_string(device.value) +
        " of the runtime is the driver's device " + std::to_string(info.driver_ordinal));
  }
  dispatch::lost_devices const& isolated = isolated_devices(state);
  if (!isolated.can_access(device.value, address) ||
      !isolated.can_access(device.value, address + bytes - 1)) {
    throw invalid_argument(
        "view_device_memory: device " + std::to_string(device.value) +
        " is isolated, so its kernels cannot access the memory at " + of_address(address) +
        ", which this process has allocated; use a device_buffer or host_buffer");
  }
  return {&impl, device, address, bytes, reach_of(state, device.value, address, facts.place)};
}

host_memory check_pinned_memory(runtime& owner, void const* memory, std::size_t bytes) {
  if (bytes == 0) { return host_memory::pinned; }
  dispatch::runtime_state& state = dispatch::runtime_state::of(access::impl(owner));
  auto const address = reinterpret_cast<std::uintptr_t>(memory);
  unsigned const asked = state.waits.with().shared.host_device;
  places const place = ask(state, asked, "view_pinned_memory", address, bytes).place;
  if (place == places::host || place == places::no_answer) {
    for (unsigned device = 0; device < state.devices.size(); ++device) {
      if (!is_mapped(state, device, address)) { return host_memory::pinned; }
    }
    return host_memory::mapped;
  }
  throw invalid_argument("view_pinned_memory: the memory at " + of_address(address) + " is " +
                         (place == places::unknown   ? "not pinned"
                          : place == places::managed ? "managed memory"
                                                     : "device memory") +
                         "; pin it with cudaHostRegister, or use a std::span, which is staged");
}

kernel_ref adopt_kernel(runtime& owner, CUkern_st* handle,
                        std::span<parameter_layout const> layout) {
  dispatch::runtime_state& state = dispatch::runtime_state::of(access::impl(owner));
  refuse_isolated(state);
  return dispatch::ref_of(state, state.programs.adopt(handle, layout));
}

}  // namespace detail

void enqueue_wait(ticket const& task, CUstream_st* stream) {
  if (!task.valid()) {
    throw invalid_argument("enqueue_wait: the ticket names no task: it is empty or was moved from");
  }
  dispatch::runtime_state& state = dispatch::runtime_state::of(*detail::access::impl(task));
  state.usage.check_process();
  dispatch::stream_waits& waits = state.stream_waits;
  auto const keep = waits.keep_runtime();
  if (keep.over()) { return; }  // all tasks of the runtime have ended
  state.usage.check_usable();
  // If only some devices are isolated, the memory on which streams wait is in this process too.
  dispatch::runtime_parts const& shared = state.waits.with().shared;
  if (shared.lost.is_isolated(shared.host_device)) {
    throw invalid_argument(
        "enqueue_wait: the stream is in this process, but all devices of the runtime are isolated: "
        "their contexts are in other processes; wait for the ticket on the host");
  }
  bool const shares_connections = waits.check(stream);
  // From now on, work of the application may order other tasks after this one, and the order check
  // cannot see that work.
  dispatch::note_end(state.checks.get(), task.id());
  std::optional<dispatch::stream_waits::flag> flag;
  if (!shares_connections) {
    if (waits.enqueue_if_launched(task.id(), stream)) { return; }
    flag = waits.take();
  }
  if (!flag) {
    waits.wait_until_launched(task.id());
    static_cast<void>(waits.enqueue_if_launched(task.id(), stream));
    return;
  }
  try {
    state.continuations.notify(
        task.id(), detail::make_continuation(
                       [&waits, flag](std::exception_ptr const&) { waits.raise(*flag); }));
  } catch (...) {
    waits.raise(*flag);
    throw;
  }
  // From now on the flag will be raised, so no error can make the stream wait forever.
  waits.enqueue(*flag, stream);
}

}  // namespace v0_1
}  // namespace flotilla

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/interop.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

#include <flotilla/error/error.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_state.hpp"
#include "driver/check.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace detail {

namespace {

std::string text_of(CUdeviceptr address) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

/// What the driver knows about the allocation that contains an address.
struct allocation_facts {
  CUmemorytype type;
  bool is_managed;
  int driver_ordinal;
  std::size_t bytes_left;  // from the address to the end of the allocation
};

/// Returns an empty optional if the driver does not know the address. Call it with a context
/// current.
std::optional<allocation_facts> query(driver::table const& api, CUdeviceptr address) {
  auto const get = [&](auto& to, CUpointer_attribute which) {
    return api.pointer_get_attribute(&to, which, address) == CUDA_SUCCESS;
  };
  unsigned type = 0;
  if (!get(type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)) { return std::nullopt; }
  unsigned managed = 0;
  int ordinal = -1;
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  static_cast<void>(get(managed, CU_POINTER_ATTRIBUTE_IS_MANAGED));
  static_cast<void>(get(ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
  bool const has_range = get(start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) &&
                         get(bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
  // A driver that does not know the size gets no check of the size.
  std::size_t const left = has_range ? start + bytes - address : SIZE_MAX;
  return allocation_facts{static_cast<CUmemorytype>(type), managed != 0, ordinal, left};
}

std::optional<allocation_facts> query_on(dispatch::runtime_state& state, unsigned device,
                                         CUdeviceptr address) {
  std::optional<allocation_facts> found;
  state.operations.run(device, [&](dispatch::device_driver& driver) {
    found = query(driver.context().api(), address);
  });
  return found;
}

void check_size(char const* view, CUdeviceptr address, std::size_t bytes, std::size_t left) {
  if (bytes <= left) { return; }
  throw invalid_argument(std::string{view} + ": " + std::to_string(bytes) + " bytes at " +
                         text_of(address) + " do not fit into the allocation, which has " +
                         std::to_string(left) + " bytes from there");
}

}  // namespace

device_range view_device_memory(runtime& owner, device_ordinal device, void const* memory,
                                std::size_t bytes) {
  runtime_impl& impl = access::impl(owner);
  dispatch::runtime_state& state = dispatch::runtime_state::of(impl);
  flotilla::device const& info = state.infos()[state.valid.checked(device)];
  auto const address = reinterpret_cast<CUdeviceptr>(memory);
  if (bytes == 0) { return {&impl, device, static_cast<std::uintptr_t>(address), 0}; }
  auto const found = query_on(state, device.value, address);
  if (!found) {
    throw invalid_argument("view_device_memory: the driver does not know the memory at " +
                           text_of(address) +
                           "; it is pageable host memory, or it was freed; use device memory, "
                           "managed memory or pinned host memory");
  }
  bool const everywhere = found->is_managed || found->type == CU_MEMORYTYPE_HOST;
  if (!everywhere && found->driver_ordinal != info.driver_ordinal) {
    throw invalid_argument(
        "view_device_memory: the memory at " + text_of(address) + " is on the driver's device " +
        std::to_string(found->driver_ordinal) + ", but device " + std::to_string(device.value) +
        " of the runtime is the driver's device " + std::to_string(info.driver_ordinal));
  }
  check_size("view_device_memory", address, bytes, found->bytes_left);
  return {&impl, device, static_cast<std::uintptr_t>(address), bytes};
}

void check_pinned_memory(runtime& owner, void const* memory, std::size_t bytes) {
  if (bytes == 0) { return; }
  dispatch::runtime_state& state = dispatch::runtime_state::of(access::impl(owner));
  auto const address = reinterpret_cast<CUdeviceptr>(memory);
  auto const found = query_on(state, 0, address);
  if (!found || found->type != CU_MEMORYTYPE_HOST) {
    throw invalid_argument("view_pinned_memory: the memory at " + text_of(address) + " is " +
                           (found ? "device memory" : "not pinned") +
                           "; pin it with cudaHostRegister, or use a std::span, which is staged");
  }
  check_size("view_pinned_memory", address, bytes, found->bytes_left);
}

std::uint32_t adopt_kernel(runtime& owner, CUkern_st* handle,
                           std::span<parameter_layout const> layout) {
  return dispatch::runtime_state::of(access::impl(owner)).programs.adopt(handle, layout);
}

runtime_impl* impl_of(runtime& owner) noexcept { return &access::impl(owner); }

bool checks_order(runtime& owner) noexcept {
  auto const& checks = dispatch::runtime_state::of(access::impl(owner)).checks;
  return checks && checks->which().order;
}

}  // namespace detail

ticket submit_event(runtime& owner, CUevent_st* event, task_options const& options) {
  detail::event_command const what{event};
  ticket made;
  dispatch::runtime_state::of(detail::access::impl(owner)).tasks.submit(what, options, true, &made);
  return made;
}

void enqueue_wait(ticket const& task, CUstream_st* stream) {
  if (!task.valid()) {
    throw invalid_argument("enqueue_wait: the ticket names no task: it is empty or was moved from");
  }
  dispatch::runtime_state& state = dispatch::runtime_state::of(*detail::access::impl(task));
  auto const keep = state.stream_waits.keep_runtime();
  if (keep.over()) { return; }  // all tasks of the runtime have ended
  state.usage.check_usable();
  dispatch::stream_waits& waits = state.stream_waits;
  bool const shares_context = waits.check(stream);
  // From now on, work of the application may order other tasks after this one, and the order check
  // cannot see that work.
  dispatch::note_end(state.checks.get(), task.id());
  if (!shares_context && waits.enqueue_if_launched(task.id(), stream)) { return; }
  std::optional<dispatch::stream_waits::flag> const flag =
      shares_context ? std::nullopt : waits.take();
  if (!flag) {
    waits.wait_until_launched(task.id());
    static_cast<void>(waits.enqueue_if_launched(task.id(), stream));
    return;
  }
  try {
    static_cast<void>(task.then([&waits, flag](std::exception_ptr const&) { waits.raise(*flag); }));
  } catch (...) {
    waits.raise(*flag);
    throw;
  }
  // From now on the flag will be raised, so no error can make the stream wait forever.
  waits.enqueue(*flag, stream);
}

}  // namespace v0_1
}  // namespace flotilla

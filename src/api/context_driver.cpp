// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// context_driver: devices, the context stack of the calling thread, and primary contexts.
#include <flotilla/context/context_driver.hpp>

#include <flotilla/runtime.hpp>

#include <cuda.h>

#include "base/access.hpp"
#include "context/description.hpp"
#include "context/flags.hpp"
#include "context/registry.hpp"
#include "context/stack_account.hpp"
#include "dispatch/runtime/runtime_state.hpp"
#include "driver/check.hpp"
#include "driver/cpu_devices.hpp"
#include "driver/library.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

using driver::check;

std::string in_words(device const& one) {
  return "device " + std::to_string(one.driver_ordinal) + " (" + one.name + ")";
}

CUdevice handle_of(driver::table const& api, device const& one) {
  CUdevice made = 0;
  check(api.device_get(&made, one.driver_ordinal), "cuDeviceGet", [&] { return in_words(one); });
  return made;
}

template <class Entry>
Entry need(Entry entry, char const* call, device const& one) {
  check(entry != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED, call,
        [&] { return in_words(one); });
  return entry;
}

}  // namespace

context_driver context_driver::gpus() {
  driver::opened const& found = driver::gpu_driver();
  if (found.api == nullptr) { throw no_device("there are no GPUs: " + found.text); }
  return detail::access::make(found.api);
}

context_driver context_driver::cpus(int devices) {
  driver::opened const& found = driver::cpu_driver();
  driver::ensure_cpu_devices(devices);
  return detail::access::make(found.api);
}

context_driver context_driver::of(runtime const& runtime) {
  auto const& state = dispatch::runtime_state::of(detail::access::impl(runtime));
  state.usage.check_process();
  return detail::access::make(state.api());
}

std::vector<device> context_driver::devices() const {
  int count = 0;
  check(api_->device_get_count(&count), "cuDeviceGetCount", api_->origin);
  return context::describe_all(*api_, count);
}

bool context_driver::can_access_peer(device const& from, device const& to) const {
  int can = 0;
  check(need(api_->device_can_access_peer, "cuDeviceCanAccessPeer", from)(
            &can, handle_of(*api_, from), handle_of(*api_, to)),
        "cuDeviceCanAccessPeer", [&] { return in_words(from) + ", to " + in_words(to); });
  return can != 0;
}

std::optional<int> context_driver::peer_rank(device const& from, device const& to) const {
  int rank = 0;
  if (api_->device_get_p2p_attribute == nullptr ||
      api_->device_get_p2p_attribute(&rank, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK,
                                     handle_of(*api_, from),
                                     handle_of(*api_, to)) != CUDA_SUCCESS) {
    return std::nullopt;
  }
  return rank;
}

compute_mode context_driver::compute_mode(device const& device) const {
  int mode = 0;
  check(
      api_->device_get_attribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, handle_of(*api_, device)),
      "cuDeviceGetAttribute", [&] { return in_words(device); });
  switch (mode) {
    case CU_COMPUTEMODE_PROHIBITED: return flotilla::compute_mode::prohibited;
    case CU_COMPUTEMODE_EXCLUSIVE_PROCESS: return flotilla::compute_mode::exclusive_process;
    default: return flotilla::compute_mode::any;
  }
}

bool context_driver::can_limit_execution(device const& device) const {
  int can = 0;
  if (api_->device_get_exec_affinity_support == nullptr) { return false; }
  check(api_->device_get_exec_affinity_support(&can, CU_EXEC_AFFINITY_TYPE_SM_COUNT,
                                               handle_of(*api_, device)),
        "cuDeviceGetExecAffinitySupport", [&] { return in_words(device); });
  return can != 0;
}

context_ref context_driver::adopt(CUctx_st* handle) const {
  unsigned version = 0;
  CUresult const answer =
      handle == nullptr ? CUDA_ERROR_INVALID_CONTEXT : api_->ctx_get_api_version(handle, &version);
  if (answer != CUDA_SUCCESS) {
    throw invalid_argument(context::in_words(handle) + " is unknown to the driver " + api_->origin +
                           ": it was destroyed or belongs to another driver (cuCtxGetApiVersion "
                           "returned " +
                           to_string(driver::status_of(answer)) + ")");
  }
  return detail::access::make(api_, handle);
}

std::optional<context_ref> context_driver::current() const {
  CUcontext top = nullptr;
  check(api_->ctx_get_current(&top), "cuCtxGetCurrent", api_->origin);
  return top == nullptr ? std::nullopt : std::optional{detail::access::make(api_, top)};
}

void context_driver::push(context_ref const& context) const {
  context::enter(*api_, context.handle());
  context::bare_push();
}

std::optional<context_ref> context_driver::pop() const {
  if (context::top_belongs_to_scope()) {
    throw context_in_use(
        "pop: the context on top of this thread's stack belongs to an open context_scope, whose "
        "destructor will pop the context");
  }
  CUcontext popped = nullptr;
  CUresult const answer = api_->ctx_pop_current(&popped);
  if (answer == CUDA_ERROR_INVALID_CONTEXT) { return std::nullopt; }
  check(answer, "cuCtxPopCurrent", api_->origin);
  static_cast<void>(context::bare_pop());
  context::note_popped(popped);
  return detail::access::make(api_, popped);
}

void context_driver::set_current(std::optional<context_ref> const& context) const {
  if (context::top_belongs_to_scope()) {
    throw context_in_use(
        "set_current: the context on top of this thread's stack belongs to an open context_scope "
        "and cannot be replaced; use push instead");
  }
  // `enter` checks whether this thread may use the context. If not, it throws while the old top is
  // still on the stack.
  if (context) { context::enter(*api_, context->handle()); }
  CUcontext popped = nullptr;
  // `enter` has pushed the new context above the old top. Pop the new context here, so that `pop`
  // below removes the old top.
  if (context) { api_->ctx_pop_current(&popped); }
  std::optional<context_ref> const replaced = pop();
  if (!context) { return; }
  CUresult const answer = api_->ctx_push_current(context->handle());
  if (answer != CUDA_SUCCESS) {
    context::note_popped(context->handle());
    if (replaced) { push(*replaced); }
    check(answer, "cuCtxPushCurrent", context::in_words(context->handle()));
  }
  context::bare_push();
}

primary_state context_driver::primary(device const& device) const {
  unsigned flags = 0;
  int active = 0;
  check(need(api_->device_primary_ctx_get_state, "cuDevicePrimaryCtxGetState", device)(
            handle_of(*api_, device), &flags, &active),
        "cuDevicePrimaryCtxGetState", [&] { return in_words(device); });
  return {active != 0, context::flags_from(flags)};
}

void context_driver::set_primary_flags(device const& device, context_flags const& flags) const {
  check(need(api_->device_primary_ctx_set_flags, "cuDevicePrimaryCtxSetFlags", device)(
            handle_of(*api_, device), context::bits_of(flags)),
        "cuDevicePrimaryCtxSetFlags", [&] { return in_words(device); });
}

void context_driver::reset_primary(device const& device) const {
  CUdevice const handle = handle_of(*api_, device);
  if (primary(device).active) {
    // The driver returns the handle of a primary context only when the context is retained.
    CUcontext retained = nullptr;
    check(need(api_->device_primary_ctx_retain, "cuDevicePrimaryCtxRetain", device)(&retained,
                                                                                    handle),
          "cuDevicePrimaryCtxRetain", [&] { return in_words(device); });
    auto const whose = context::registry::owner(retained);
    static_cast<void>(
        need(api_->device_primary_ctx_release, "cuDevicePrimaryCtxRelease", device)(handle));
    if (whose) {
      throw context_in_use("the primary context cannot be reset, because flotilla uses it for " +
                           *whose + "; close that floating_context or end that runtime first");
    }
  }
  check(need(api_->device_primary_ctx_reset, "cuDevicePrimaryCtxReset", device)(handle),
        "cuDevicePrimaryCtxReset", [&] { return in_words(device); });
}

}  // namespace v0_1
}  // namespace flotilla

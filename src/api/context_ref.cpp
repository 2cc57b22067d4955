// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// context_ref: functions for a context that is given by its handle.
#include <flotilla/context/context_ref.hpp>

#include <cuda.h>

#include "base/access.hpp"
#include "context/flags.hpp"
#include "context/peers.hpp"
#include "context/registry.hpp"
#include "context/stack_account.hpp"
#include "driver/check.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

using context::in_words;
using context::scoped_current;
using driver::check;

/// Returns `entry`.
/// @throws driver_error  `entry` is null: the driver does not have this call.
template <class Entry>
Entry need(Entry entry, char const* call, CUctx_st* handle) {
  check(entry != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED, call,
        [&] { return in_words(handle); });
  return entry;
}

CUlimit limit_of(context_limit which) {
  switch (which) {
    case context_limit::stack: return CU_LIMIT_STACK_SIZE;
    case context_limit::printf_fifo: return CU_LIMIT_PRINTF_FIFO_SIZE;
    case context_limit::malloc_heap: return CU_LIMIT_MALLOC_HEAP_SIZE;
    case context_limit::sync_depth: return CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH;
    case context_limit::pending_launches: return CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT;
    case context_limit::l2_fetch_granularity: return CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
    case context_limit::persisting_l2: return CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
    case context_limit::shared_memory: return CU_LIMIT_SHMEM_SIZE;
    case context_limit::graphics: return CU_LIMIT_CIG_ENABLED;
    case context_limit::graphics_fallback: return CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED;
  }
  throw invalid_argument("context_limit " + std::to_string(static_cast<int>(which)) +
                         " does not exist; use one of the values of the enum");
}

}  // namespace

context_in_use::~context_in_use() = default;

int context_ref::driver_ordinal() const {
  scoped_current const now{*api_, handle_};
  CUdevice device = -1;
  check(api_->ctx_get_device(&device), "cuCtxGetDevice", [&] { return in_words(handle_); });
  return device;
}

unsigned context_ref::api_version() const {
  unsigned version = 0;
  check(api_->ctx_get_api_version(handle_, &version), "cuCtxGetApiVersion",
        [&] { return in_words(handle_); });
  return version;
}

unsigned long long context_ref::id() const {
  unsigned long long made = 0;
  check(need(api_->ctx_get_id, "cuCtxGetId", handle_)(handle_, &made), "cuCtxGetId",
        [&] { return in_words(handle_); });
  return made;
}

context_flags context_ref::flags() const {
  scoped_current const now{*api_, handle_};
  unsigned bits = 0;
  check(api_->ctx_get_flags(&bits), "cuCtxGetFlags", [&] { return in_words(handle_); });
  return context::flags_from(bits);
}

void context_ref::set_flags(context_flags const& flags) const {
  unsigned const bits = context::bits_of(flags);
  scoped_current const now{*api_, handle_};
  check(need(api_->ctx_set_flags, "cuCtxSetFlags", handle_)(bits), "cuCtxSetFlags",
        [&] { return in_words(handle_); });
}

cache_preference context_ref::cache() const {
  scoped_current const now{*api_, handle_};
  CUfunc_cache made{};
  check(api_->ctx_get_cache_config(&made), "cuCtxGetCacheConfig",
        [&] { return in_words(handle_); });
  return static_cast<cache_preference>(made);
}

void context_ref::set_cache(cache_preference preference) const {
  scoped_current const now{*api_, handle_};
  check(api_->ctx_set_cache_config(static_cast<CUfunc_cache>(preference)), "cuCtxSetCacheConfig",
        [&] { return in_words(handle_) + ", cache = " + to_string(preference); });
}

bank_size context_ref::bank_size() const {
  scoped_current const now{*api_, handle_};
  CUsharedconfig made{};
  check(need(api_->ctx_get_shared_mem_config, "cuCtxGetSharedMemConfig", handle_)(&made),
        "cuCtxGetSharedMemConfig", [&] { return in_words(handle_); });
  return static_cast<flotilla::bank_size>(made);
}

bank_size context_ref::set_bank_size(flotilla::bank_size size) const {
  {
    scoped_current const now{*api_, handle_};
    check(need(api_->ctx_set_shared_mem_config, "cuCtxSetSharedMemConfig",
               handle_)(static_cast<CUsharedconfig>(size)),
          "cuCtxSetSharedMemConfig",
          [&] { return in_words(handle_) + ", bank_size = " + to_string(size); });
  }
  return bank_size();
}

std::optional<std::size_t> context_ref::limit(context_limit which) const {
  CUlimit const asked = limit_of(which);
  scoped_current const now{*api_, handle_};
  std::size_t value = 0;
  CUresult const answer = api_->ctx_get_limit(&value, asked);
  // Both statuses mean that the driver does not support the limit. Old drivers return
  // CUDA_ERROR_INVALID_VALUE.
  if (answer == CUDA_ERROR_UNSUPPORTED_LIMIT || answer == CUDA_ERROR_INVALID_VALUE) {
    return std::nullopt;
  }
  check(answer, "cuCtxGetLimit", [&] { return in_words(handle_); });
  return value;
}

std::size_t context_ref::set_limit(context_limit which, std::size_t value) const {
  CUlimit const asked = limit_of(which);
  scoped_current const now{*api_, handle_};
  auto const subject = [&] {
    return in_words(handle_) + ", limit " + std::to_string(static_cast<int>(asked)) + " = " +
           std::to_string(value);
  };
  check(api_->ctx_set_limit(asked, value), "cuCtxSetLimit", subject);
  std::size_t granted = 0;
  check(api_->ctx_get_limit(&granted, asked), "cuCtxGetLimit", subject);
  return granted;
}

priority_range context_ref::stream_priorities() const {
  scoped_current const now{*api_, handle_};
  priority_range made;
  check(api_->ctx_get_stream_priority_range(&made.least, &made.greatest),
        "cuCtxGetStreamPriorityRange", [&] { return in_words(handle_); });
  return made;
}

memory_info context_ref::memory() const {
  scoped_current const now{*api_, handle_};
  memory_info made;
  check(api_->mem_get_info(&made.free_bytes, &made.total_bytes), "cuMemGetInfo",
        [&] { return in_words(handle_); });
  return made;
}

std::optional<unsigned> context_ref::exec_affinity() const {
  if (api_->ctx_get_exec_affinity == nullptr) { return std::nullopt; }
  scoped_current const now{*api_, handle_};
  CUexecAffinityParam made{};
  CUresult const answer = api_->ctx_get_exec_affinity(&made, CU_EXEC_AFFINITY_TYPE_SM_COUNT);
  if (answer == CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY || answer == CUDA_ERROR_NOT_SUPPORTED) {
    return std::nullopt;
  }
  check(answer, "cuCtxGetExecAffinity", [&] { return in_words(handle_); });
  return made.param.smCount.val;
}

std::optional<unsigned> context_ref::multiprocessors() const {
  if (api_->ctx_get_dev_resource == nullptr) { return std::nullopt; }
  CUdevResource made{};
  CUresult const answer = api_->ctx_get_dev_resource(handle_, &made, CU_DEV_RESOURCE_TYPE_SM);
  if (answer == CUDA_ERROR_NOT_SUPPORTED) { return std::nullopt; }
  check(answer, "cuCtxGetDevResource", [&] { return in_words(handle_); });
  return made.sm.smCount;
}

void context_ref::synchronize() const {
  // cuCtxSynchronize_v2 takes the handle, so the context does not have to be current.
  if (api_->ctx_synchronize_v2 != nullptr) {
    check(api_->ctx_synchronize_v2(handle_), "cuCtxSynchronize", [&] { return in_words(handle_); });
    return;
  }
  scoped_current const now{*api_, handle_};
  check(api_->ctx_synchronize(), "cuCtxSynchronize", [&] { return in_words(handle_); });
}

void context_ref::reset_persisting_l2() const {
  scoped_current const now{*api_, handle_};
  check(need(api_->ctx_reset_persisting_l2_cache, "cuCtxResetPersistingL2Cache", handle_)(),
        "cuCtxResetPersistingL2Cache", [&] { return in_words(handle_); });
}

void context_ref::enable_peer(context_ref const& other) const {
  auto const subject = [&] { return in_words(handle_) + ", to " + in_words(other.handle_); };
  CUdevice const home = other.driver_ordinal();
  CUdevice const here = driver_ordinal();
  scoped_current const now{*api_, handle_};
  CUresult const answer =
      need(api_->ctx_enable_peer_access, "cuCtxEnablePeerAccess", handle_)(other.handle_, 0);
  if (answer == CUDA_SUCCESS || answer == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
    // The memory of pools does not follow the access of contexts.
    auto const pool = context::open_pool(*api_, home, {&here, 1});
    check(pool.status, pool.call, subject);
  }
  check(answer, "cuCtxEnablePeerAccess", subject);
}

void context_ref::disable_peer(context_ref const& other) const {
  scoped_current const now{*api_, handle_};
  check(need(api_->ctx_disable_peer_access, "cuCtxDisablePeerAccess", handle_)(other.handle_),
        "cuCtxDisablePeerAccess",
        [&] { return in_words(handle_) + ", to " + in_words(other.handle_); });
}

context_attachment::context_attachment(context_ref context)
    : context_{std::move(context)}, serial_{context::registry::serial(context_.handle())} {
  driver::table const& api = *detail::access::api(context_);
  scoped_current const now{api, context_.handle()};
  CUcontext attached = nullptr;
  check(need(api.ctx_attach, "cuCtxAttach", context_.handle())(&attached, 0), "cuCtxAttach",
        [&] { return in_words(context_.handle()); });
}

context_attachment::~context_attachment() {
  // If flotilla created the context and has already destroyed it, do nothing: cuCtxDetach would
  // destroy the context a second time.
  if (serial_ != 0 && context::registry::serial(context_.handle()) != serial_) { return; }
  driver::table const& api = *detail::access::api(context_);
  if (api.ctx_push_current(context_.handle()) != CUDA_SUCCESS) { return; }
  api.ctx_detach(context_.handle());
  CUcontext popped = nullptr;
  api.ctx_pop_current(&popped);
}

}  // namespace v0_1
}  // namespace flotilla

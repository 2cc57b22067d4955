// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/refusal.hpp"
#include "isolation/calls/calls.hpp"
#include "isolation/calls/forward.hpp"
#include "isolation/calls/memory_use.hpp"
#include "isolation/calls/never_throws.hpp"
#include "isolation/calls/target.hpp"

namespace flotilla::isolated {

namespace {

thread_state& mine() { return thread_state::get(); }

/// Whether the current context is one of a worker.
bool has_own_top() { return mine().top() != nullptr && !is_foreign(mine().top()); }

CUresult CUDAAPI ctx_create(CUcontext* made, unsigned flags, CUdevice ordinal) {
  isolated_device* const on = owner::get().device(ordinal);
  if (on == nullptr) {
    CUresult const answer = base().ctx_create(made, flags, ordinal);
    if (answer == CUDA_SUCCESS) { mine().contexts.push_back(*made); }
    return answer;
  }
  if (made == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (CUresult const status = on->ensure_worker(); status != CUDA_SUCCESS) { return status; }
  std::lock_guard const lock{on->mutex()};
  std::uint32_t const index = index_for(*on, object_kind::context);
  if (index == 0) { return CUDA_ERROR_OUT_OF_MEMORY; }
  mine().contexts.reserve(mine().contexts.size() + 1);
  session one{*on, operation::ctx_create, 0};
  one.out().put(index);
  one.out().put(flags);
  one.out().put(ordinal);
  handle_bits const handle = remember(*on, object_kind::context, index, one);
  if (CUresult const answer = one.send(); answer != CUDA_SUCCESS) {
    forget_new(*on, object_kind::context, index);
    // A context of a CPU device has threads, so the reason may be a limit of the worker process.
    base::note_refusal(answer, one.in().text());
    return answer;
  }
  on->workers().learn(index);
  *made = handle.as<CUcontext>();
  mine().contexts.push_back(*made);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI ctx_destroy(CUcontext context) {
  handle_bits const bits = handle_bits::of(context);
  if (is_foreign(context) || context == nullptr) {
    CUresult const answer = base().ctx_destroy(context);
    if (answer == CUDA_SUCCESS && mine().top() == context) { mine().contexts.pop_back(); }
    return answer;
  }
  if (!is_open(bits, object_kind::context)) { return CUDA_ERROR_INVALID_CONTEXT; }
  isolated_device& on = *owner::get().device(bits.device());
  std::lock_guard const lock{on.mutex()};
  if (on.lost() == CUDA_SUCCESS) {
    session one{on, operation::ctx_destroy, 0};  // in the worker that serves, whoever knows it
    one.put_object(bits.index());
    static_cast<void>(one.send());
  }
  free_memory_of(on, bits.index());
  forget(on, bits.index());
  if (mine().top() == context) { mine().contexts.pop_back(); }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI ctx_push_current(CUcontext context) {
  if (context == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  mine().contexts.reserve(mine().contexts.size() + 1);
  if (is_foreign(context)) {
    if (CUresult const answer = base().ctx_push_current(context)) { return answer; }
  } else if (!is_open(handle_bits::of(context), object_kind::context)) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  mine().contexts.push_back(context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI ctx_pop_current(CUcontext* popped) {
  if (!has_own_top()) {
    CUresult const answer = base().ctx_pop_current(popped);
    if (answer == CUDA_SUCCESS && mine().top() != nullptr) { mine().contexts.pop_back(); }
    return answer;
  }
  if (popped != nullptr) { *popped = mine().top(); }
  mine().contexts.pop_back();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI ctx_get_current(CUcontext* current) {
  if (!has_own_top()) { return base().ctx_get_current(current); }
  if (current == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  *current = mine().top();
  return CUDA_SUCCESS;
}

/// Replaces the current context, as the driver does: at the bottom of an empty stack, or on top.
CUresult CUDAAPI ctx_set_current(CUcontext context) {
  bool const is_own = context != nullptr && !is_foreign(context);
  if (is_own && !is_open(handle_bits::of(context), object_kind::context)) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  mine().contexts.reserve(mine().contexts.size() + 1);
  if (!is_own && context != nullptr && has_own_top()) {
    if (CUresult const answer = base().ctx_push_current(context)) { return answer; }
  } else if (!has_own_top() && !(is_own && mine().top() == nullptr)) {
    // The context of the base driver on top goes, or is replaced.
    if (CUresult const answer = base().ctx_set_current(is_own ? nullptr : context)) {
      return answer;
    }
  }
  if (mine().top() != nullptr) { mine().contexts.pop_back(); }
  if (context != nullptr) { mine().contexts.push_back(context); }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI ctx_get_device(CUdevice* ordinal) {
  if (!has_own_top()) { return base().ctx_get_device(ordinal); }
  if (ordinal == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  *ordinal = handle_bits::of(mine().top()).device();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI ctx_get_id(CUcontext context, unsigned long long* id) {
  CUcontext const asked = context == nullptr && has_own_top() ? mine().top() : context;
  handle_bits const bits = handle_bits::of(asked);
  if (asked == nullptr || is_foreign(asked)) {
    return base().ctx_get_id != nullptr ? base().ctx_get_id(context, id) : CUDA_ERROR_NOT_SUPPORTED;
  }
  if (id == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (!is_open(bits, object_kind::context)) { return CUDA_ERROR_INVALID_CONTEXT; }
  *id = bits.value;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI stream_get_ctx(CUstream stream, CUcontext* context) {
  handle_bits const bits = handle_bits::of(stream);
  if (is_foreign(stream) || (!bits.is_ours() && !has_own_top())) {
    return base().stream_get_ctx(stream, context);
  }
  if (context == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (!bits.is_ours()) {
    *context = mine().top();
    return CUDA_SUCCESS;
  }
  if (!is_open(bits, object_kind::stream)) { return CUDA_ERROR_INVALID_HANDLE; }
  isolated_device& on = *owner::get().device(bits.device());
  std::lock_guard const lock{on.mutex()};
  journal_entry const* const found = on.objects().find(bits.index());
  *context = found != nullptr ? on.objects().handle_of(found->parent).as<CUcontext>() : nullptr;
  return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI device_can_access_peer(int* can, CUdevice from, CUdevice to) {
  bool const is_isolated =
      owner::get().device(from) != nullptr || owner::get().device(to) != nullptr;
  if (!is_isolated) { return base().device_can_access_peer(can, from, to); }
  if (can == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  *can = 0;  // a worker has only the memory of its own device
  return CUDA_SUCCESS;
}

CUresult CUDAAPI ctx_enable_peer_access(CUcontext peer, unsigned flags) {
  return is_foreign(peer) && !has_own_top() ? base().ctx_enable_peer_access(peer, flags)
                                            : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult CUDAAPI ctx_disable_peer_access(CUcontext peer) {
  return is_foreign(peer) && !has_own_top() ? base().ctx_disable_peer_access(peer)
                                            : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

}  // namespace

void put_context_calls(driver::table& into) {
  into.ctx_create = never_throws<&ctx_create>;
  into.ctx_destroy = never_throws<&ctx_destroy>;
  into.ctx_push_current = never_throws<&ctx_push_current>;
  into.ctx_pop_current = never_throws<&ctx_pop_current>;
  into.ctx_get_current = never_throws<&ctx_get_current>;
  into.ctx_set_current = never_throws<&ctx_set_current>;
  into.ctx_get_device = never_throws<&ctx_get_device>;
  into.ctx_get_id = never_throws<&ctx_get_id>;
  into.stream_get_ctx = never_throws<&stream_get_ctx>;
  into.device_can_access_peer = never_throws<&device_can_access_peer>;
  into.ctx_enable_peer_access = never_throws<&ctx_enable_peer_access>;
  into.ctx_disable_peer_access = never_throws<&ctx_disable_peer_access>;
}

}  // namespace flotilla::isolated

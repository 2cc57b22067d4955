// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The driver of devices in this process that share a runtime with isolated ones: the base driver,
// except for what both kinds of devices have in common. That is the stack of contexts of a thread,
// pinned memory, and copies between the two kinds.
#include "isolation/calls/calls.hpp"
#include "isolation/calls/never_throws.hpp"
#include "isolation/calls/target.hpp"

namespace flotilla::isolated {

namespace {

using api = driver::table;

/// A call of the base driver that makes a context and pushes it.
template <auto Entry, class... Types>
CUresult create(CUcontext* made, Types... values) {
  auto& contexts = thread_state::get().contexts;
  contexts.reserve(contexts.size() + 1);
  CUresult const answer = (base().*Entry)(made, values...);
  if (answer == CUDA_SUCCESS) { contexts.push_back(*made); }
  return answer;
}

CUresult CUDAAPI ctx_create(CUcontext* made, unsigned flags, CUdevice ordinal) {
  return create<&api::ctx_create>(made, flags, ordinal);
}

CUresult CUDAAPI ctx_create_v3(CUcontext* made, CUexecAffinityParam* limits, int count,
                               unsigned flags, CUdevice ordinal) {
  return create<&api::ctx_create_v3>(made, limits, count, flags, ordinal);
}

CUresult CUDAAPI ctx_create_v4(CUcontext* made, CUctxCreateParams* with, unsigned flags,
                               CUdevice ordinal) {
  return create<&api::ctx_create_v4>(made, with, flags, ordinal);
}

}  // namespace

void put_local_calls(driver::table& into, driver::table const& forwarding) {
  // Another runtime may have isolated the same device, so the calls that make contexts are not
  // those of the forwarding driver, which would make them in a worker.
  into.ctx_create = never_throws<&ctx_create>;
  if (into.ctx_create_v3 != nullptr) { into.ctx_create_v3 = never_throws<&ctx_create_v3>; }
  if (into.ctx_create_v4 != nullptr) { into.ctx_create_v4 = never_throws<&ctx_create_v4>; }
  into.ctx_destroy = forwarding.ctx_destroy;
  into.ctx_push_current = forwarding.ctx_push_current;
  into.ctx_pop_current = forwarding.ctx_pop_current;
  into.ctx_get_current = forwarding.ctx_get_current;
  into.ctx_set_current = forwarding.ctx_set_current;
  into.ctx_get_device = forwarding.ctx_get_device;
  into.mem_free_host = forwarding.mem_free_host;
  into.mem_host_unregister = forwarding.mem_host_unregister;
  into.mem_host_get_device_pointer = forwarding.mem_host_get_device_pointer;
  into.pointer_get_attribute = forwarding.pointer_get_attribute;
  into.memcpy_peer_async = forwarding.memcpy_peer_async;
  into.copy_rows_between = forwarding.copy_rows_between;
  put_local_host_memory_calls(into);
}

}  // namespace flotilla::isolated

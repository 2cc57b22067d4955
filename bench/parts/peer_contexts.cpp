// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "peer_contexts.hpp"

#include "control_subject.hpp"
#include "driver/check.hpp"
#include "machine.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

}  // namespace

std::string why_no_peers() {
  context::choice const& here = machine();
  if (here.devices.size() < 2) { return "there is only one device"; }
  if (here.api->device_can_access_peer == nullptr || here.api->ctx_enable_peer_access == nullptr) {
    return "the driver has no peer access";
  }
  for (std::size_t i = 0; i < 2; ++i) {
    int can = 0;
    check(here.api->device_can_access_peer(&can, here.devices[i].driver_ordinal,
                                           here.devices[1 - i].driver_ordinal),
          "cuDeviceCanAccessPeer", control_subject);
    if (can == 0) { return "the driver says that the first two devices are not peers"; }
  }
  return {};
}

void enable_peers(std::array<CUcontext, 2> const& contexts) {
  driver::table const& api = *machine().api;
  for (std::size_t i = 0; i < 2; ++i) {
    check(api.ctx_push_current(contexts[i]), "cuCtxPushCurrent", control_subject);
    CUresult const answer = api.ctx_enable_peer_access(contexts[1 - i], 0);
    CUcontext popped = nullptr;
    check(api.ctx_pop_current(&popped), "cuCtxPopCurrent", control_subject);
    if (answer != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
      check(answer, "cuCtxEnablePeerAccess", control_subject);
    }
  }
}

}  // namespace flotilla::bench

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/peers.hpp"

#include <algorithm>

#include <flotilla/error/driver_status.hpp>

#include "context/stack_account.hpp"
#include "driver/check.hpp"

namespace flotilla::context {

namespace {

std::string in_words(driver::call_outcome const& refused) {
  std::string const status = to_string(driver::status_of(refused.status));
  if (refused.status == CUDA_ERROR_TOO_MANY_PEERS) {
    return "the device already has as many peers as the hardware supports (" +
           std::string{refused.call} + ": " + status + ")";
  }
  return std::string{refused.call} + " returned " + status;
}

CUdevice driver_device(context_handle const& of) noexcept {
  CUdevice found = -1;
  // The context was created on this device, so the call cannot fail.
  static_cast<void>(of.api().device_get(&found, of.where().driver_ordinal));
  return found;
}

/// Returns the reason why the context of `from`, which is current, cannot access the memory of the
/// context of `to`. Empty if it can.
std::string enable_context(context_handle const& from, context_handle const& to) {
  driver::table const& api = from.api();
  for (context_handle const* const each : {&from, &to}) {
    if (each->effective().isolation != isolation::process) { continue; }
    return each->subject() + " is isolated, so only its worker process has its memory";
  }
  if (api.device_can_access_peer == nullptr || api.ctx_enable_peer_access == nullptr) {
    return "this driver has no peer access";
  }
  int can = 0;
  CUresult answer = api.device_can_access_peer(&can, driver_device(from), driver_device(to));
  if (answer != CUDA_SUCCESS) { return in_words({answer, "cuDeviceCanAccessPeer"}); }
  if (can == 0) { return "the driver says that these devices are not peers"; }
  answer = api.ctx_enable_peer_access(to.handle(), 0);
  bool const is_enabled =
      answer == CUDA_SUCCESS || answer == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  return is_enabled ? std::string{} : in_words({answer, "cuCtxEnablePeerAccess"});
}

}  // namespace

driver::call_outcome open_pool(driver::table const& api, CUdevice of,
                               std::span<CUdevice const> from) {
  if (api.device_get_mem_pool == nullptr || api.mem_pool_set_access == nullptr) {
    return {CUDA_ERROR_NOT_SUPPORTED, "cuMemPoolSetAccess"};
  }
  // cuMemAllocAsync uses the current pool, which is the default pool unless the application has set
  // another one.
  CUmemoryPool pool = nullptr;
  CUresult const answer = api.device_get_mem_pool(&pool, of);
  if (answer != CUDA_SUCCESS) { return {answer, "cuDeviceGetMemPool"}; }
  std::vector<CUmemAccessDesc> wanted;
  for (CUdevice const each : from) {
    CUmemAccessDesc one{};
    one.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    one.location.id = each;
    one.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    wanted.push_back(one);
  }
  return {api.mem_pool_set_access(pool, wanted.data(), wanted.size()), "cuMemPoolSetAccess"};
}

peer_table::peer_table(std::deque<leased_context> const& all)
    : devices_(static_cast<unsigned>(all.size())), refusals_(std::size_t{devices_} * devices_) {
  for (unsigned from = 0; from < devices_; ++from) { enable_contexts(all, from); }
  for (unsigned to = 0; to < devices_; ++to) { open_pools(all, to); }
}

void peer_table::enable_contexts(std::deque<leased_context> const& all, unsigned from) {
  context_handle const& own = all[from].context;
  auto const is_same_gpu = [&](unsigned to) {
    return all[to].context.where().driver_ordinal == own.where().driver_ordinal;
  };
  bool const is_wanted = own.asked().peer_access.value_or(true);
  bool has_peers = false;
  for (unsigned to = 0; to < devices_; ++to) {
    if (is_same_gpu(to)) { continue; }
    has_peers = true;
    if (!is_wanted) {
      at(from, to) = "the setting 'peer_access' of device " + std::to_string(from) + " is false";
    }
  }
  if (!has_peers || !is_wanted) { return; }
  scoped_current const now{own.api(), own.handle()};
  for (unsigned to = 0; to < devices_; ++to) {
    if (!is_same_gpu(to)) { at(from, to) = enable_context(own, all[to].context); }
  }
}

void peer_table::open_pools(std::deque<leased_context> const& all, unsigned to) {
  context_handle const& own = all[to].context;
  CUdevice const home = driver_device(own);
  std::vector<CUdevice> wanted;  // several devices of the runtime may be parts of one GPU
  std::vector<unsigned> askers;  // by device of the runtime
  for (unsigned from = 0; from < devices_; ++from) {
    CUdevice const each = driver_device(all[from].context);
    if (each == home || !reaches(from, to)) { continue; }
    askers.push_back(from);
    if (std::find(wanted.begin(), wanted.end(), each) == wanted.end()) { wanted.push_back(each); }
  }
  if (wanted.empty() || open_pool(own.api(), home, wanted).ok()) { return; }
  // The call has changed nothing. Find out which devices the driver refuses.
  for (CUdevice const each : wanted) {
    driver::call_outcome const answer = open_pool(own.api(), home, {&each, 1});
    if (answer.ok()) { continue; }
    for (unsigned const from : askers) {
      if (driver_device(all[from].context) == each) { at(from, to) = in_words(answer); }
    }
  }
}

std::string peer_table::refusals_of(unsigned from) const {
  std::string text;
  for (unsigned to = 0; to < devices_; ++to) {
    if (reaches(from, to)) { continue; }
    text += (text.empty() ? "no access to the memory of device " : "; of device ") +
            std::to_string(to) + ": " + refusal(from, to);
  }
  return text;
}

}  // namespace flotilla::context

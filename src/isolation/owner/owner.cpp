// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/owner/owner.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include <flotilla/error/error.hpp>

#include "isolation/channel/system_thread.hpp"

namespace flotilla::isolated {

namespace {
constexpr char on_request[] = "its worker process was ended on request";
}

std::atomic<owner*> owner::only_{nullptr};

owner::owner(std::shared_ptr<driver::table const> base, std::string program)
    : base_(std::move(base)),
      program_(std::move(program)),
      processes_(*new supervisor),
      shared_(0, first_shared_object) {}

owner& owner::make(std::shared_ptr<driver::table const> const& base, std::string const& program) {
  static std::mutex mutex;
  std::lock_guard const lock{mutex};
  owner* found = find();
  if (found == nullptr) {
    found = new owner{base, program};
    only_.store(found, std::memory_order_release);  // pairs with `get`
  }
  if (found->base_ != base) {
    throw invalid_argument(
        "this process already has isolated devices of another driver; GPUs and CPU devices cannot "
        "both be isolated in one process");
  }
  return *found;
}

void owner::isolate(int ordinal) {
  std::lock_guard const lock{making_};
  if (ordinal < 0 || ordinal >= max_devices) {
    throw invalid_argument("device " + std::to_string(ordinal) + " cannot be isolated; only the " +
                           std::to_string(max_devices) + " first devices of a driver can");
  }
  auto& slot = devices_[static_cast<std::size_t>(ordinal)];
  if (slot.load() == nullptr) { slot.store(new isolated_device{*this, ordinal}); }
}

void owner::keep_spares() {
  std::lock_guard const lock{making_};
  for (std::size_t i = 0; i < max_devices; ++i) {
    isolated_device* const kept = devices_[i].load();
    if (kept == nullptr || has_keeper_[i]) { continue; }
    // A thread for each device: a process that hangs must not keep another device from its spare.
    start_thread("the thread that keeps a spare worker process", [kept] {
      constexpr std::chrono::milliseconds period{50};
      for (;; std::this_thread::sleep_for(period)) { kept->tend_spare(); }
    });
    has_keeper_[i] = true;
  }
}

std::uint32_t owner::index_of(user const& who) noexcept {
  handle_bits const bits = handle_bits::of(who.context);
  return who.context != nullptr && bits.is_ours() ? bits.index() : 0;
}

bool owner::is_lost(user const& who) const noexcept { return status(who) != CUDA_SUCCESS; }

CUresult owner::status(user const& who) const noexcept {
  isolated_device const* const found = device(who.ordinal);
  return found != nullptr ? found->lost_for(index_of(who)) : CUDA_SUCCESS;
}

std::string owner::reason(user const& who) const {
  isolated_device* const found = device(who.ordinal);
  return found != nullptr ? found->reason(index_of(who)) : std::string{};
}

std::shared_ptr<worker_process> owner::worker_of(user const& who) const noexcept {
  isolated_device* const found = device(who.ordinal);
  if (found == nullptr) { return nullptr; }
  std::uint32_t number = 0;
  auto serving = found->worker(number);
  return found->workers().knows(index_of(who), number) ? std::move(serving) : nullptr;
}

void owner::kill(user const& who) noexcept {
  if (auto const known = worker_of(who)) { known->lose(CUDA_ERROR_LAUNCH_FAILED, on_request); }
}

void owner::crash(user const& who) noexcept {
  if (auto const known = worker_of(who)) { known->crash(); }
}

void owner::end(user const& who) noexcept {
  // One and the same worker is ended and waited for, even if another runtime replaces it meanwhile.
  auto const known = worker_of(who);
  if (known == nullptr) { return; }
  known->lose(CUDA_ERROR_LAUNCH_FAILED, on_request);
  known->wait_for_end_of_work(base().kind);
}

bool owner::replace(user const& who) noexcept {
  isolated_device* const found = device(who.ordinal);
  try {
    return found == nullptr || found->replace(index_of(who));
  } catch (...) { return false; }
}

bool owner::can_access(int ordinal, std::uintptr_t address) const {
  if (is_host_address(address)) {
    auto const found = host_.find(reinterpret_cast<void const*>(address));
    return found && found->is_registered;
  }
  isolated_device* const on = device(ordinal);
  if (on == nullptr) { return true; }
  std::lock_guard const lock{on->mutex()};
  return on->memory().find(address).has_value();
}

void* owner::allocate_shared(std::size_t bytes) { return host_.allocate(bytes); }

void owner::free_shared(void* memory) noexcept { host_.free(memory); }

}  // namespace flotilla::isolated

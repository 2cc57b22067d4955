// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/owner/owner.hpp"

#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include <flotilla/error/error.hpp>

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
  if (std::exchange(keeps_spares_, true)) { return; }
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread{[this] {
    constexpr std::chrono::milliseconds period{50};
    for (;; std::this_thread::sleep_for(period)) {
      for (int i = 0; i < max_devices; ++i) {
        if (isolated_device* const each = device(i)) { each->tend_spare(); }
      }
    }
  }}.detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool owner::is_lost(int ordinal) const noexcept {
  isolated_device const* const found = device(ordinal);
  return found != nullptr && found->lost() != CUDA_SUCCESS;
}

CUresult owner::status(int ordinal) const noexcept {
  isolated_device const* const found = device(ordinal);
  return found != nullptr ? found->lost() : CUDA_SUCCESS;
}

std::string owner::reason(int ordinal) const {
  isolated_device* const found = device(ordinal);
  return found != nullptr ? found->reason() : std::string{};
}

void owner::kill(int ordinal) noexcept {
  isolated_device* const found = device(ordinal);
  if (found != nullptr) { found->lose(CUDA_ERROR_LAUNCH_FAILED, on_request); }
}

void owner::crash(int ordinal) noexcept {
  isolated_device* const found = device(ordinal);
  std::uint32_t generation = 0;
  auto const worker = found != nullptr ? found->worker(generation) : nullptr;
  if (worker != nullptr) { worker->crash(); }
}

void owner::end(int ordinal) noexcept {
  isolated_device* const found = device(ordinal);
  std::uint32_t generation = 0;
  // One and the same worker is ended and waited for, even if another runtime replaces it meanwhile.
  auto const worker = found != nullptr ? found->worker(generation) : nullptr;
  if (worker == nullptr) { return; }
  worker->lose(CUDA_ERROR_LAUNCH_FAILED, on_request);
  worker->wait_for_end_of_work(base().kind);
}

bool owner::replace(int ordinal) noexcept {
  isolated_device* const found = device(ordinal);
  try {
    return found == nullptr || found->replace();
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

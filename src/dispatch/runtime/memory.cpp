// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/memory.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include <flotilla/detail/wait_interruption.hpp>
#include <flotilla/error/error.hpp>

#include "base/process_end.hpp"
#include "dispatch/task/callable_frame.hpp"
#include "dispatch/waiting/waits.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

/// Says how the memory of a device is used. The context must be current.
std::string use_of(device_driver& driver) {
  std::size_t free = 0, total = 0;
  std::string const held = std::to_string(driver.memory().held());
  if (driver.context().api().mem_get_info(&free, &total) != CUDA_SUCCESS) {
    return "; buffers of this runtime hold " + held + " bytes of it";
  }
  return "; " + std::to_string(free) + " of the device's " + std::to_string(total) +
         " bytes are free, and buffers of this runtime hold " + held + " bytes of it";
}

/// As cuCtxSynchronize, but can be interrupted. Does nothing for a caller that cannot.
void wait_for_streams(device_driver& driver) {
  auto const is_busy = [&driver] {
    bool any = false;
    driver.lanes().for_each_busy([&](lane const& each) {
      any = any || driver.context().api().stream_query(each.stream()) == CUDA_ERROR_NOT_READY;
    });
    return any;
  };
  while (detail::interruptible_waits::are_on() && is_busy()) {
    detail::interruptible_waits::check();
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

}  // namespace

bool memory::wait_for_given_up_memory() const {
  // Inside a host task or callable, the wait would wait for this task too.
  if (callable_frame::innermost(shared_.id) != nullptr || shared_.continuations.inside()) {
    return false;
  }
  slow_waits::wait age{.what = "an allocation that waits for free memory", .begun = {}};
  idle_wait wait{waiter_, shared_.reclaimer.close_epoch(), age};
  waiter_.until(wait);
  return true;
}

void memory::throw_if_lost(unsigned device, CUresult answer, char const* call) const {
  if (answer != CUDA_SUCCESS && shared_.lost.is_lost(device)) {
    driver::check(answer, call, devices_[device].context().subject());
  }
}

std::uintptr_t memory::allocate(unsigned device, std::size_t bytes) const {
  epoch_reclaimer::room room{shared_.reclaimer};
  CUdeviceptr address = 0;
  CUresult answer = CUDA_SUCCESS;
  std::string found;  // if there is not enough memory: how it is used
  bool may_find_more = false;
  auto const attempt = [&](device_driver& driver) {
    found.clear();
    driver.free_unused(deferred_free::blocking::avoided);
    // Before the attempt, and with the lease: another thread may free memory right after it.
    may_find_more = !shared_.reclaimer.empty();
    answer = driver.memory().allocate(bytes, address);
    throw_if_lost(device, answer, "cuMemAllocAsync");
    if (answer == CUDA_ERROR_OUT_OF_MEMORY) { found = use_of(driver); }
  };
  operations_.run(device, attempt);
  if (answer == CUDA_ERROR_OUT_OF_MEMORY && may_find_more && wait_for_given_up_memory()) {
    operations_.run(device, attempt);
  }
  shared_.faults.note(answer, device);
  driver::check(answer, "cuMemAllocAsync", [&] {
    return std::to_string(bytes) + " bytes, " + devices_[device].context().subject() + found;
  });
  room.keep();
  return static_cast<std::uintptr_t>(address);
}

std::uintptr_t memory::allocate_host(std::size_t bytes) const {
  epoch_reclaimer::room room{shared_.reclaimer};
  void* address = nullptr;
  CUresult answer = CUDA_SUCCESS;
  unsigned const device = operations_.usable_instead_of(shared_.host_device);
  bool may_find_more = false;
  auto const attempt = [&](deferred_free::blocking blocking) {
    operations_.run(device, [&](device_driver& driver) {
      driver.free_unused(blocking);
      may_find_more = !shared_.reclaimer.empty();  // as in `allocate`
      answer = driver.context().api().mem_host_alloc(
          &address, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
      throw_if_lost(device, answer, "cuMemHostAlloc");
    });
  };
  attempt(deferred_free::blocking::avoided);
  if (answer == CUDA_ERROR_OUT_OF_MEMORY && may_find_more && wait_for_given_up_memory()) {
    attempt(deferred_free::blocking::allowed);
  }
  shared_.faults.note(answer, device);
  driver::check(answer, "cuMemHostAlloc",
                [&] { return std::to_string(bytes) + " bytes of pinned host memory"; });
  room.keep();
  return reinterpret_cast<std::uintptr_t>(address);
}

void memory::release(epoch_reclaimer::kinds kind, unsigned device, std::uintptr_t address,
                     std::size_t bytes) const noexcept {
  if (usage_.is_forked()) { return; }
  bool const is_host = kind == epoch_reclaimer::kinds::host_memory;
  devices_.retire({.kind = kind,
                   .device = is_host ? operations_.usable_instead_of(shared_.host_device) : device,
                   .address = address,
                   .bytes = bytes});
}

void memory::flush_printf() const {
  usage_.check_process();
  if (callable_frame::innermost(shared_.id) != nullptr) {
    throw would_deadlock(
        "flush_printf is not allowed inside a callable, because it waits for all work of the "
        "device, the callable included; call flush_printf after the callable has ended");
  }
  for (unsigned i = 0; i < devices_.size(); ++i) {
    if (shared_.faults.is_poisoned()) {
      base::yield_to_process_end();
      std::rethrow_exception(shared_.faults.failure_of_all()->error);
    }
    operations_.run(i, [&](device_driver& driver) {
      wait_for_streams(driver);
      CUresult const answer = driver.context().api().ctx_synchronize();
      shared_.faults.note(answer, i);
      driver::check(answer, "cuCtxSynchronize", driver.context().subject());
    });
  }
  std::fflush(stdout);  // the driver may have printed into this buffer
}

}  // namespace flotilla::dispatch

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/fault_monitor.hpp"

#include <chrono>
#include <new>

#include <flotilla/error/error.hpp>

#include "dispatch/fault/suspects.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

fault_monitor::fault_monitor(task_table const& tasks, completion_board const& board,
                             task_text const& text, doorbell const& bell, lost_devices& lost,
                             wait_flags& flags, progress_words& progress)
    : tasks_(tasks),
      board_(board),
      text_(text),
      bell_(bell),
      lost_(lost),
      flags_(flags),
      progress_(progress),
      without_memory_(make_failure(std::make_exception_ptr(
          poisoned(driver_status::unknown,
                   "the CUDA driver of this process is unusable; there was not enough memory for "
                   "a report")))),
      out_of_memory_(make_failure(std::make_exception_ptr(
          poisoned(driver_status::out_of_memory,
                   "host memory ran out while tasks were launched, so this runtime can run no more "
                   "tasks. Kernels and copies that are already launched may still run; the "
                   "destructor of the runtime waits for them. To continue, free memory and create "
                   "another runtime")))) {}

void fault_monitor::note(CUresult answer, unsigned device) noexcept {
  if (answer == CUDA_ERROR_DEINITIALIZED) { return poison(answer, device); }
  if (!is_sticky(driver::status_of(answer))) { return; }
  if (lost_.is_isolated(device)) { return lost_.note(device, answer); }
  poison(answer, device);
}

void fault_monitor::poll_health() noexcept {
  // acquire: pairs with the release store below
  if (polling_.exchange(true, std::memory_order_acquire)) { return; }
  for (unsigned device = 0; device < devices_.size(); ++device) {
    stream_health::answer const health = devices_[device].streams->query();
    if (!health.final) { continue; }
    if (lost_.is_isolated(device)) {
      lost_.note(device, health.status);
    } else {
      poison(health.status, device);
    }
  }
  lost_.look();
  polling_.store(false, std::memory_order_release);  // pairs with the exchange above
}

void fault_monitor::poison(CUresult answer, unsigned device) noexcept {
  if (poisoning_.exchange(true, std::memory_order_acq_rel)) { return; }  // another thread was first
  try {
    std::string const text = answer == CUDA_ERROR_DEINITIALIZED
                                 ? "the CUDA driver shut down before all tasks had ended"
                                 : report(answer, device);
    end_all_with(make_failure(std::make_exception_ptr(poisoned(driver::status_of(answer), text))));
  } catch (std::bad_alloc const&) { end_all_with(without_memory_); }
}

void fault_monitor::note_out_of_memory() noexcept {
  if (poisoning_.exchange(true, std::memory_order_acq_rel)) { return; }  // another thread was first
  end_all_with(out_of_memory_);
}

void fault_monitor::end_all_with(std::shared_ptr<failure const> why) noexcept {
  failure_ = std::move(why);
  poisoned_.store(true, std::memory_order_release);  // pairs with the acquire in is_poisoned
  // Stop the spin kernels. Otherwise they would run forever, and no context could be destroyed.
  board_.stop_all();
  flags_.raise_all();
  progress_.raise_all();
  bell_.note_end();
}

std::string fault_monitor::report(CUresult answer, unsigned device) const {
  driver_status const status = driver::status_of(answer);
  std::string text = to_string(status) + " (" + std::to_string(static_cast<int>(answer)) + "): ";
  text += is_sticky(status) ? "a kernel faulted, and the CUDA driver of this process is unusable. "
                            : "every query of the device's streams returns this error. ";
  auto const suspects = find_suspects(tasks_, board_, text_);
  if (suspects.empty()) {
    text += "The error was seen on " + devices_[device].context->subject() +
            "; no launch was in flight. ";
  }
  for (auto const& [number, list] : suspects) {
    flotilla::device const& info = devices_[number].context->where();
    text += "Suspects on device " + std::to_string(number) + " (" + info.name + ", " + info.uuid +
            ", " + info.pci_id + "): " + list.text() + ". ";
  }
  // If a kernel makes a misaligned access, its grid can end and its successors can run before the
  // driver reports the fault, 90 to 150 ms later (docs/results/h200-fault.txt).
  constexpr std::chrono::milliseconds max_latency{500};
  auto const since = std::chrono::steady_clock::now() - max_latency;
  std::string ended;
  for (unsigned number = 0; number < devices_.size(); ++number) {
    auto const found = suspects.find(number);
    for (std::string const& work : text_.launched_after(since, number)) {
      if (found != suspects.end() && found->second.has(work)) { continue; }
      ended += (ended.empty() ? "" : "; ") + work + ", device " + std::to_string(number);
    }
  }
  if (!ended.empty()) {
    text +=
        "A kernel can end before its fault is reported, so these may have faulted too: " + ended +
        ". ";
  }
  return text + "To use CUDA again, start a new process.";
}

}  // namespace flotilla::dispatch

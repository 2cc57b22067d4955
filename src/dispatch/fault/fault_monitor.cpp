// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/fault_monitor.hpp"

#include <algorithm>
#include <map>
#include <new>

#include <flotilla/error/error.hpp>

#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

// The maximum number of suspects that the error text names per device.
constexpr std::size_t max_suspects = 8;

/// The suspects on one device, which are the tasks that may have faulted.
struct suspect_list {
  std::size_t count = 0;
  std::string text;
};

}  // namespace

fault_monitor::fault_monitor(task_table const& tasks, completion_board const& board,
                             task_text const& text, doorbell const& bell)
    : tasks_(tasks),
      board_(board),
      text_(text),
      bell_(bell),
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
  if (answer == CUDA_ERROR_DEINITIALIZED || is_sticky(driver::status_of(answer))) {
    poison(answer, device);
  }
}

void fault_monitor::poll_health() noexcept {
  // acquire: pairs with the release store below
  if (polling_.exchange(true, std::memory_order_acquire)) { return; }
  for (unsigned device = 0; device < devices_.size(); ++device) {
    lane_set::health const health = devices_[device].lanes->query_streams();
    if (health.final) { poison(health.status, device); }
  }
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
  bell_.note_end();
}

std::string fault_monitor::report(CUresult answer, unsigned device) const {
  // After a fault every context of the process returns the same status. So the device that returned
  // this status first did not necessarily run the kernel that faulted. The suspects are the tasks
  // that were probably running: in each lane, the tasks of the first batch that did not complete.
  // After a fault, nobody can know whether a batch that ends with an event had ended. So if the
  // first batch ends with an event, the next batch of its lane is suspect too, and so on.
  auto const for_each_running = [this](auto&& visit) {
    tasks_.for_each_open([&](slot_address task) {
      end_mark const end{tasks_.at(task).end.load(std::memory_order_acquire)};
      if (end.valid() && !board_.reached(end)) { visit(task, end); }
      return true;
    });
  };
  // Returns the device and the lane of a mark as one number.
  auto const lane_of = [](end_mark end) { return end.word >> 48; };
  // For each device and lane: the marks that the lane has not reached, by their numbers.
  std::map<std::uint64_t, std::map<std::uint64_t, end_mark>> running;
  for_each_running(
      [&](slot_address, end_mark end) { running[lane_of(end)].try_emplace(end.number(), end); });
  auto const is_suspect = [&](end_mark end) {
    auto const& marks = running[lane_of(end)];
    return std::all_of(marks.begin(), marks.lower_bound(end.number()), [&](auto const& earlier) {
      return board_.event_of(earlier.second) != nullptr;
    });
  };
  std::map<unsigned, suspect_list> suspects;  // by device
  for_each_running([&](slot_address task, end_mark end) {
    if (!is_suspect(end)) { return; }
    suspect_list& list = suspects[end.device()];
    if (++list.count > max_suspects) { return; }
    list.text += (list.text.empty() ? "" : "; ") +
                 text_.describe(task, devices_[end.device()].context->subject());
  });

  driver_status const status = driver::status_of(answer);
  std::string text = to_string(status) + " (" + std::to_string(static_cast<int>(answer)) + "): ";
  text += is_sticky(status) ? "a kernel faulted, and the CUDA driver of this process is unusable. "
                            : "every query of the device's streams returns this error. ";
  if (suspects.empty()) {
    text += "The error was seen on " + devices_[device].context->subject() +
            "; no launch was in flight. ";
  }
  for (auto const& [number, list] : suspects) {
    flotilla::device const& info = devices_[number].context->where();
    text += "Suspects on device " + std::to_string(number) + " (" + info.name + ", " + info.uuid +
            ", " + info.pci_id + "): " + list.text +
            (list.count > max_suspects ? "; and more" : "") + ". ";
  }
  return text + "To use CUDA again, start a new process.";
}

}  // namespace flotilla::dispatch

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Reserves places for tasks.
#include <string>
#include <utility>

#include <flotilla/error/error.hpp>

#include "dispatch/submission/submitter.hpp"

namespace flotilla::dispatch {

void submitter::refuse_unreserved(place const& to, std::string_view label) const {
  throw invalid_argument(
      "the reservation has no place left for " +
      (to.inbound == nullptr ? std::string{"tasks that any device may run"}
                             : "device " + std::to_string(to.index)) +
      (label.empty() ? "" : ", but the task '" + std::string{label} + "' needs one") +
      "; reserve a place for each task");
}

unsigned submitter::reserved_place(reserved_tasks const& wanted) const {
  if (wanted.device) { return valid_.checked(*wanted.device); }
  if (placement_ != nullptr) {
    throw invalid_argument(
        "try_reserve: a reservation without a device is not possible in a runtime with a "
        "placement, which chooses the device only at the submit; name the device");
  }
  return infos_.size() == 1 ? 0 : places_.shared().index;
}

bool submitter::try_reserve(std::span<reserved_tasks const> wanted, reserved_slots& slots) const {
  usage_.check_usable();
  std::vector<std::size_t> tasks(infos_.size() + 1);  // by place
  for (reserved_tasks const& each : wanted) {
    unsigned const index = reserved_place(each);
    std::size_t const window = places_[index].slots.window();
    if (each.tasks > window || tasks[index] + each.tasks > window) {
      throw invalid_argument("try_reserve: more than " + std::to_string(window) +
                             " places were asked for, but that is the whole window of " +
                             (places_[index].inbound == nullptr
                                  ? "the tasks that any device may run"
                                  : "device " + std::to_string(index)) +
                             "; set a larger window or reserve fewer places");
    }
    tasks[index] += each.tasks;
  }
  std::vector<unsigned> indices;
  for (unsigned index = 0; index < tasks.size(); ++index) {
    indices.insert(indices.end(), tasks[index], index);
  }
  if (indices.empty()) {
    throw invalid_argument("try_reserve: no place was asked for; ask for at least one");
  }
  std::vector<slot_address> taken(indices.size());
  if (!slots_.try_reserve(indices, taken)) { return false; }
  slots = reserved_slots{std::move(taken)};
  return true;
}

}  // namespace flotilla::dispatch

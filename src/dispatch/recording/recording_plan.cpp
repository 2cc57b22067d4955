// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/recording_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace flotilla::dispatch {

namespace {

/// Assigns each task to a part: fills in `places`, and the device and the tasks of each part.
void assign_tasks(task_order const& tasks, recording_plan& plan) {
  std::vector<std::uint32_t> phases;
  phases.reserve(tasks.size());
  // By phase and device: the number of tasks, and later the number of the part.
  std::map<std::pair<std::uint32_t, unsigned>, std::uint32_t> numbers;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    std::uint32_t phase = 0;
    for (std::uint32_t const ahead : tasks.after(i)) {
      bool const changes = tasks.device(ahead) != tasks.device(i);
      phase = std::max(phase, phases[ahead] + (changes ? 1 : 0));
    }
    phases.push_back(phase);
    ++numbers[{phase, tasks.device(i)}];
  }
  plan.parts.reserve(numbers.size() + 1);  // one more for join_ends
  for (auto& [key, number] : numbers) {
    planned_part& made = plan.parts.emplace_back();
    made.device = key.second;
    made.tasks.reserve(number);
    number = static_cast<std::uint32_t>(plan.parts.size() - 1);
  }
  plan.places.reserve(tasks.size());
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    std::uint32_t const number = numbers[{phases[i], tasks.device(i)}];
    std::vector<std::uint32_t>& in = plan.parts[number].tasks;
    plan.places.push_back({number, static_cast<std::uint32_t>(in.size())});
    in.push_back(i);
  }
}

/// Finds the predecessors of each task inside its part, and the parts for which each part waits.
void order_parts(task_order const& tasks, recording_plan& plan, unsigned devices) {
  // By device: 1 + the device's latest part so far; 0 if there is none.
  std::vector<std::uint32_t> last_of(devices, 0);
  std::vector<std::uint32_t> waits;
  for (std::uint32_t number = 0; number < plan.parts.size(); ++number) {
    planned_part& part = plan.parts[number];
    // By device: 1 + the latest part that this part must wait for; 0 if there is none. Waiting for
    // the latest part is enough, because the parts of one device run in order.
    waits.assign(devices, 0);
    waits[part.device] = std::exchange(last_of[part.device], number + 1);
    part.after.reserve(part.tasks.size(), part.tasks.size());
    for (std::uint32_t const task : part.tasks) {
      for (std::uint32_t const ahead : tasks.after(task)) {
        recording_plan::place const there = plan.places[ahead];
        if (there.part == number) {
          part.after.push(there.index);
        } else {
          std::uint32_t& wait = waits[plan.parts[there.part].device];
          wait = std::max(wait, there.part + 1);
        }
      }
      part.after.close();
    }
    for (std::uint32_t const wait : waits) {
      if (wait != 0) { part.parts_ahead.push_back(wait - 1); }
    }
  }
}

void join_ends(recording_plan& plan, unsigned device) {
  std::vector<bool> is_end(plan.parts.size(), true);
  for (planned_part const& each : plan.parts) {
    for (std::uint32_t const ahead : each.parts_ahead) { is_end[ahead] = false; }
  }
  // If only one part has no successor, that part already runs after all others.
  if (std::count(is_end.begin(), is_end.end(), true) < 2) { return; }
  planned_part join{.device = device};
  for (std::uint32_t i = 0; i < is_end.size(); ++i) {
    if (is_end[i]) { join.parts_ahead.push_back(i); }
  }
  plan.parts.push_back(std::move(join));
}

}  // namespace

recording_plan plan_recording(task_order const& tasks) {
  recording_plan plan;
  if (tasks.size() == 0) { return plan; }
  unsigned devices = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    devices = std::max(devices, tasks.device(i) + 1);
  }
  assign_tasks(tasks, plan);
  order_parts(tasks, plan, devices);
  join_ends(plan, tasks.device(0));
  return plan;
}

}  // namespace flotilla::dispatch

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "producer.hpp"

namespace flotilla::test {

namespace {
constexpr std::uint32_t one = 1;  // the source of all copies
}

void producer::produce(std::size_t first, std::size_t last) {
  unsigned const any = run_.counted.devices();
  for (std::size_t id = first; id < last; ++id) {
    unsigned const device = id % 1000 == 0 ? random_() % any : random_() % (any + 1);
    // A task for any device has its cell in pinned memory, which every device can write. A callable
    // also has its cell in pinned memory, because it runs on the host.
    bool const pinned = device == any || id % 500 == 250 || (id % 1000 != 0 && random_() % 8 == 0);
    cell_place const place = pinned ? any : device;
    remembered latest{submit(id, device, place), run_.counted.at(place, id), place};
    remembered& oldest = own_[id % own_.size()];
    // Read the error of the oldest task only if the task has ended. If this thread waited for open
    // tasks, it could not have more open tasks than `own_` has elements. The runtime's counters
    // show the failures of all tasks.
    if (oldest.task.valid() && oldest.task.ready()) { wait(oldest.task); }
    if (random_() % 8 == 0) {
      oldest = {};
      run_.common.put(random_(), std::move(latest));
    } else {
      oldest = std::move(latest);
    }
  }
  for (remembered const& each : own_) {
    if (each.task.valid()) { wait(each.task); }
  }
  run_.checked += checked_;
}

ticket producer::submit(std::size_t id, unsigned device, cell_place place) {
  choice chosen;
  if (device < run_.counted.devices()) { chosen.how.device = device_ordinal{device}; }
  if (random_() % 4 == 0) { chosen.how.priority = -static_cast<int>(random_() % 6); }
  bool const is_copy = id % 1000 == 0, is_callable = run_.callables && id % 500 == 250;
  choose_predecessors(chosen, device, !is_copy && !is_callable);
  std::uint32_t* const cell = run_.counted.at(place, id);
  if (is_copy) { return run_.rt.submit(run_.counted.set(device, id, one), chosen.how); }
  if (is_callable) {
    return run_.rt.submit([cell](task_context&) { ++std::atomic_ref{*cell}; }, chosen.how);
  }
  chosen.how.batch = random_() % 16 != 0;
  ticket task = run_.rt.submit(
      run_.kernel.with_shape({1}, {1})(cell, chosen.predecessors, run_.violations), chosen.how);
  if (id % 1000 == 500) {
    ++run_.attached;
    static_cast<void>(task.then(
        [&shared = run_](std::exception_ptr why) { shared.continued += why == nullptr; }));
  }
  return task;
}

void producer::choose_predecessors(choice& chosen, unsigned device, bool is_kernel) {
  unsigned const count = random_() % 5;
  for (unsigned i = 0; i < count; ++i) {
    remembered const* predecessor = &own_[random_() % own_.size()];
    if (random_() % 4 == 0) {
      chosen.kept[i] = run_.common.get(random_());
      predecessor = chosen.kept[i].get();
    }
    if (predecessor == nullptr || !predecessor->task.valid()) { continue; }
    chosen.how.after.add(predecessor->task);
    if (is_kernel && run_.counted.can_read(device, predecessor->place)) {
      chosen.predecessors.cell[i] = predecessor->cell;
      ++checked_;
    }
  }
}

void producer::wait(ticket const& task) {
  try {
    task.wait();
  } catch (...) { ++run_.failed; }
}

}  // namespace flotilla::test

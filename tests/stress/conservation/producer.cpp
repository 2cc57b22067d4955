#include "producer.hpp"

namespace flotilla::test {

namespace {
constexpr std::uint32_t one = 1;  // what copies bring
}

void producer::produce(std::size_t first, std::size_t last) {
  unsigned const any = run_.counted.devices();
  for (std::size_t id = first; id < last; ++id) {
    unsigned const where = id % 1000 == 0 ? dice_() % any : dice_() % (any + 1);
    // Which device a task for any will run on is not known: its cell lies where all reach it. So do callables'.
    bool const pinned = where == any || id % 500 == 250 || (id % 1000 != 0 && dice_() % 8 == 0);
    cell_place const place = pinned ? any : where;
    remembered made{submit(id, where, place), run_.counted.at(place, id), place};
    remembered& oldest = own_[id % own_.size()];
    // Who waited here would never have more than these tasks open; what fails unseen, the counters know.
    if (oldest.task.valid() && oldest.task.ready()) { wait(oldest.task); }
    if (dice_() % 8 == 0) {
      oldest = {};
      run_.common.put(dice_(), std::move(made));
    } else {
      oldest = std::move(made);
    }
  }
  for (remembered const& each : own_) {
    if (each.task.valid()) { wait(each.task); }
  }
  run_.checked += checked_;
}

ticket producer::submit(std::size_t id, unsigned where, cell_place place) {
  choice made;
  if (where < run_.counted.devices()) { made.how.device = device_ordinal{where}; }
  if (dice_() % 4 == 0) { made.how.priority = -static_cast<int>(dice_() % 6); }
  bool const is_copy = id % 1000 == 0, is_callable = run_.callables && id % 500 == 250;
  put_behind(made, where, !is_copy && !is_callable);
  std::uint32_t* const cell = run_.counted.at(place, id);
  if (is_copy) { return run_.rt.submit(run_.counted.set(where, id, one), made.how); }
  if (is_callable) {
    return run_.rt.submit([cell](task_context&) { ++std::atomic_ref{*cell}; }, made.how);
  }
  made.how.batch = dice_() % 16 != 0;
  ticket task =
      run_.rt.submit(run_.kernel.on({1}, {1})(cell, made.ahead, run_.violations), made.how);
  if (id % 1000 == 500) {
    ++run_.attached;
    static_cast<void>(
        task.then([&of = run_](std::exception_ptr why) { of.continued += why == nullptr; }));
  }
  return task;
}

void producer::put_behind(choice& made, unsigned where, bool is_kernel) {
  unsigned const count = dice_() % 5;
  for (unsigned i = 0; i < count; ++i) {
    remembered const* ahead = &own_[dice_() % own_.size()];
    if (dice_() % 4 == 0) {
      made.kept[i] = run_.common.get(dice_());
      ahead = made.kept[i].get();
    }
    if (ahead == nullptr || !ahead->task.valid()) { continue; }
    made.how.after.add(ahead->task);
    if (is_kernel && run_.counted.can_read(where, ahead->place)) {
      made.ahead.cell[i] = ahead->cell;
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

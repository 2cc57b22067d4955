#include "cpu_driver/graph_run.hpp"

#include <cstring>
#include <utility>

#include "cpu_driver/device.hpp"
#include "cpu_driver/perform.hpp"
#include "cpu_driver/run_launch.hpp"

namespace flotilla::cpu_driver {

bool graph_run::may_go_on() noexcept {
  if (next_ == 0 && operation_ == 0 && !of_->turn_of(number_)) { return false; }
  if (finished() || kinds_[next_] != step_kind::other) { return true; }
  node_work const& work = steps_[next_].work;
  if (auto const* const wanted = std::get_if<wait_work>(&work)) {
    return !wanted->awaited || wanted->awaited->watch();
  }
  if (auto const* const wanted = std::get_if<memory_ops_work>(&work)) {
    auto const& operation = wanted->operations[operation_];
    return !is_wait(operation) || satisfied(wait_of(operation));
  }
  return true;
}

bool graph_run::polls() const noexcept {
  if (finished() || kinds_[next_] != step_kind::other) { return false; }
  auto const* const work = std::get_if<memory_ops_work>(&steps_[next_].work);
  return work != nullptr && is_wait(work->operations[operation_]);
}

CUresult graph_run::go_on(context& owner, device& home) noexcept {
  for (; next_ < steps_.size(); ++next_) {
    // What was rewritten is in another core's cache: it comes while the step before it runs.
    if (next_ + 1 < steps_.size() && kinds_[next_ + 1] == step_kind::kernel) {
      auto const* const line = reinterpret_cast<char const*>(&steps_[next_ + 1]);
      __builtin_prefetch(line);
      __builtin_prefetch(line + 64);
    }
    if (kinds_[next_] == step_kind::skip) { continue; }
    node_work& todo = steps_[next_].work;
    if (kinds_[next_] == step_kind::kernel) {
      auto& kernel = *std::get_if<kernel_work>(&todo);
      if (CUresult const status = perform(kernel, owner, home)) { return status; }
    } else if (!perform(todo)) {
      return CUDA_SUCCESS;
    }
  }
  return CUDA_SUCCESS;
}

bool graph_run::perform(node_work& todo) noexcept {
  if (auto* const operations = std::get_if<memory_ops_work>(&todo)) {
    return go_through(*operations);
  }
  if (auto* const wait = std::get_if<wait_work>(&todo)) {
    if (wait->awaited && !wait->awaited->passed()) { return false; }
    wait->awaited.reset();
  } else if (auto* const record = std::get_if<record_work>(&todo)) {
    std::exchange(record->made, nullptr)->happen();
  } else if (auto* const call = std::get_if<call_host>(&todo)) {
    perform_call(*call);
  } else if (auto* const copy = std::get_if<copy_work>(&todo)) {
    std::memmove(copy->to, copy->from, copy->bytes);
  } else if (auto* const fill = std::get_if<fill_work>(&todo)) {
    perform_fill(fill->what);
  }
  return true;
}

bool graph_run::go_through(memory_ops_work const& todo) noexcept {
  for (; operation_ < todo.operations.size(); ++operation_) {
    auto const& operation = todo.operations[operation_];
    if (!is_wait(operation)) {
      perform_memory_op(operation);
    } else if (!satisfied(wait_of(operation))) {
      return false;
    }
  }
  operation_ = 0;
  return true;
}

CUresult graph_run::perform(kernel_work& todo, context& owner, device& home) noexcept {
  context* where = &owner;
  device* on = &home;
  if (todo.owner != owner.self()) {
    for (auto const& other : others_) {
      if (other->self() == todo.owner) { where = other.get(); }
    }
    on = &where->home();
  }
  launch_kernel launch{
      .image = todo.image.get(),
      .kernel = todo.kernel,
      .grid_size = todo.grid_size,
      .block_size = todo.block_size,
      .dynamic_shared_bytes = todo.dynamic_shared_bytes,
      .arguments = todo.arguments.data(),
      .large_arguments = nullptr,
  };
  return run_launch(launch, *where, *on);
}

void graph_run::end() noexcept {
  // After a fault there are records that nobody will come to: who waits asks for the fault next.
  for (; next_ < steps_.size(); ++next_) {
    node_work& work = steps_[next_].work;
    if (auto* const record = std::get_if<record_work>(&work); record != nullptr && record->made) {
      std::exchange(record->made, nullptr)->drop();
    } else if (auto* const awaited = std::get_if<wait_work>(&work)) {
      awaited->awaited.reset();
    }
  }
  next_ = operation_ = 0;
  others_.clear();
  auto const of = std::move(of_);
  of->finish(*this);
}

}  // namespace flotilla::cpu_driver

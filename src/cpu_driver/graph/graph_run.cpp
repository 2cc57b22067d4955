// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/graph/graph_run.hpp"

#include <cstring>
#include <utility>

#include "cpu_driver/graph/graph_run_pool.hpp"
#include "cpu_driver/stream/device_thread.hpp"
#include "cpu_driver/stream/event.hpp"
#include "cpu_driver/stream/execute.hpp"
#include "cpu_driver/stream/run_launch.hpp"

namespace flotilla::cpu_driver {

void graph_run::copy(std::span<graph_step const> steps, std::span<std::uint64_t const> versions,
                     std::uint64_t version) {
  if (version_ == version) { return; }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (versions_[i] == versions[i]) { continue; }
    node_work const& work = steps[i].work;
    steps_[i].work = work;
    kinds_[i] = !steps[i].enabled || std::holds_alternative<empty_work>(work) ? step_kind::skip
                : std::holds_alternative<kernel_work>(work)                   ? step_kind::kernel
                                                                              : step_kind::other;
    versions_[i] = versions[i];  // last, because copying the work may throw
  }
  version_ = version;
}

CUresult graph_run::prepare(std::span<CUcontext const> contexts,
                            context_resources const& stream_context) {
  for (CUcontext const each : contexts) {
    if (each == stream_context.handle) { continue; }
    auto found = context::table().find(each);
    if (!found) { return CUDA_ERROR_CONTEXT_IS_DESTROYED; }
    others_.push_back(std::move(found));
  }
  for (step& each : steps_) {
    if (auto* const record = std::get_if<record_work>(&each.work)) {
      auto const recorded = event::table().find(record->event);
      if (!recorded) { return CUDA_ERROR_INVALID_HANDLE; }
      record->made = std::make_shared<event_record>(recorded->timed());
    }
  }
  return CUDA_SUCCESS;
}

void graph_run::begin(std::uint64_t number, std::shared_ptr<void const> owner) noexcept {
  for (step& each : steps_) {
    if (auto* const record = std::get_if<record_work>(&each.work)) {
      if (auto const recorded = event::table().find(record->event)) {
        recorded->set_latest(record->made);
      }
    } else if (auto* const wait = std::get_if<wait_work>(&each.work)) {
      if (auto const awaited = event::table().find(wait->event)) {
        wait->awaited = awaited->latest();
      }
    }
  }
  number_ = number;
  owner_ = std::move(owner);
}

bool graph_run::may_continue() noexcept {
  if (next_ == 0 && operation_ == 0 && !pool_.is_next(number_)) { return false; }
  if (finished() || kinds_[next_] != step_kind::other) { return true; }
  node_work const& work = steps_[next_].work;
  if (auto const* const wait = std::get_if<wait_work>(&work)) {
    return !wait->awaited || wait->awaited->watch();
  }
  if (auto const* const operations = std::get_if<memory_ops_work>(&work)) {
    auto const& operation = operations->operations[operation_];
    return !is_wait(operation) || satisfied(wait_of(operation));
  }
  return true;
}

bool graph_run::needs_polling() const noexcept {
  if (finished() || kinds_[next_] != step_kind::other) { return false; }
  auto const* const work = std::get_if<memory_ops_work>(&steps_[next_].work);
  return work != nullptr && is_wait(work->operations[operation_]);
}

CUresult graph_run::run_steps(launch_site const& site) noexcept {
  for (; next_ < steps_.size(); ++next_) {
    // The launching thread may just have copied the next step. The step is then in the cache of
    // another core. Therefore prefetch the next step while this step runs.
    if (next_ + 1 < steps_.size() && kinds_[next_ + 1] == step_kind::kernel) {
      auto const* const line = reinterpret_cast<char const*>(&steps_[next_ + 1]);
      __builtin_prefetch(line);
      __builtin_prefetch(line + 64);
    }
    if (kinds_[next_] == step_kind::skip) { continue; }
    node_work& work = steps_[next_].work;
    if (kinds_[next_] == step_kind::kernel) {
      auto& kernel = *std::get_if<kernel_work>(&work);
      if (CUresult const status = run_kernel(kernel, site)) { return status; }
    } else if (!run_step(work, site)) {
      return CUDA_SUCCESS;
    }
  }
  return CUDA_SUCCESS;
}

bool graph_run::run_step(node_work& work, launch_site const& site) noexcept {
  if (auto* const operations = std::get_if<memory_ops_work>(&work)) {
    return run_memory_ops(*operations, site.device);
  }
  if (auto* const wait = std::get_if<wait_work>(&work)) {
    if (wait->awaited && !wait->awaited->completed()) { return false; }
    wait->awaited.reset();
  } else if (auto* const record = std::get_if<record_work>(&work)) {
    std::exchange(record->made, nullptr)->complete();
  } else if (auto* const call = std::get_if<call_host>(&work)) {
    execute_call(*call);
  } else if (auto* const copy = std::get_if<copy_work>(&work)) {
    std::memmove(copy->to, copy->from, copy->bytes);
  } else if (auto* const fill = std::get_if<fill_work>(&work)) {
    execute_fill(fill->fill);
  }
  return true;
}

bool graph_run::run_memory_ops(memory_ops_work const& work, int device) noexcept {
  for (; operation_ < work.operations.size(); ++operation_) {
    auto const& operation = work.operations[operation_];
    if (!is_wait(operation)) {
      execute_memory_op(operation, device);
    } else if (!satisfied(wait_of(operation))) {
      return false;
    }
  }
  operation_ = 0;
  return true;
}

CUresult graph_run::run_kernel(kernel_work& kernel, launch_site const& site) noexcept {
  launch_kernel launch{
      .image = kernel.image.get(),
      .kernel = kernel.kernel,
      .grid_size = kernel.grid_size,
      .block_size = kernel.block_size,
      .dynamic_shared_bytes = kernel.dynamic_shared_bytes,
      .arguments = kernel.arguments.data(),
      .large_arguments = nullptr,
  };
  if (kernel.owner == site.context.handle) { return run_launch(launch, site); }
  for (auto const& other : others_) {
    if (other->self() == kernel.owner) {
      context_resources& context = other->resources();
      return run_launch(launch, {context, context.thread.device(), site.placement});
    }
  }
  return CUDA_ERROR_CONTEXT_IS_DESTROYED;  // not reached: prepare() has found every context
}

void graph_run::end() noexcept {
  // After a fault, some steps have not run. Abandons the event records of these steps, so that no
  // thread waits for them forever. A thread that has waited for a record then checks for a fault.
  for (; next_ < steps_.size(); ++next_) {
    node_work& work = steps_[next_].work;
    if (auto* const record = std::get_if<record_work>(&work); record != nullptr && record->made) {
      std::exchange(record->made, nullptr)->abandon();
    } else if (auto* const wait = std::get_if<wait_work>(&work)) {
      wait->awaited.reset();
    }
  }
  next_ = operation_ = 0;
  others_.clear();
  auto const owner = std::move(owner_);  // keeps the pool alive until finish() has returned
  pool_.finish(*this);
}

}  // namespace flotilla::cpu_driver

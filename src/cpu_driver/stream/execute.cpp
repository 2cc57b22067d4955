// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/stream/execute.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "cpu_driver/fault/injection.hpp"
#include "cpu_driver/memory/memory_map.hpp"
#include "cpu_driver/stream/run_launch.hpp"
#include "cpu_driver/stream/stream_task.hpp"

namespace flotilla::cpu_driver {
namespace {

thread_local bool inside_host_function = false;

template <class Word>
void fill_with(fill_memory const& fill) noexcept {
  std::fill_n(static_cast<Word*>(fill.address), fill.elements, static_cast<Word>(fill.value));
}

/// The store is atomic, because host threads and other devices may read the word concurrently.
template <class Word>
void store_value(write_value const& write) noexcept {
  // release: pairs with the acquire in compare() or in a host thread that reads the word
  std::atomic_ref<Word>(*static_cast<Word*>(write.address))
      .store(static_cast<Word>(write.value), std::memory_order_release);
}

template <class Word, class Signed>
bool compare(wait_value const& wait) noexcept {
  auto* const address = const_cast<Word*>(static_cast<Word const*>(wait.address));
  // acquire: pairs with the release in store_value() or in a host thread that writes the word
  Word const seen = std::atomic_ref<Word>(*address).load(std::memory_order_acquire);
  auto const value = static_cast<Word>(wait.value);
  switch (wait.comparison) {
    case CU_STREAM_WAIT_VALUE_GEQ: return static_cast<Signed>(seen - value) >= 0;  // cyclic
    case CU_STREAM_WAIT_VALUE_EQ: return seen == value;
    case CU_STREAM_WAIT_VALUE_AND: return (seen & value) != 0;
    default: return static_cast<Word>(~(seen | value)) != 0;  // CU_STREAM_WAIT_VALUE_NOR
  }
}

struct operation_executor {
  launch_site const& site;

  CUresult operator()(std::monostate) const noexcept { return CUDA_SUCCESS; }
  CUresult operator()(launch_kernel& launch) const noexcept { return run_launch(launch, site); }
  CUresult operator()(copy_bytes& copy) const noexcept {
    std::memmove(copy.to, copy.staged ? copy.staged.get() : copy.from, copy.bytes);
    if (injection::armed()) {
      std::this_thread::sleep_for(injection::time_of_copy(site.device, copy.bytes));
    }
    return CUDA_SUCCESS;
  }
  CUresult operator()(fill_memory& fill) const noexcept {
    execute_fill(fill);
    return CUDA_SUCCESS;
  }
  CUresult operator()(record_event& record) const noexcept {
    record.record->complete();
    return CUDA_SUCCESS;
  }
  CUresult operator()(write_value& write) const noexcept {
    execute_write(write, site.device);
    return CUDA_SUCCESS;
  }
  CUresult operator()(call_host& call) const noexcept {
    execute_call(call);
    return CUDA_SUCCESS;
  }
  CUresult operator()(free_memory& freed) const noexcept {
    memory_map::of_process().finish_free(freed.address);
    return CUDA_SUCCESS;
  }
  CUresult operator()(run_task& run) const noexcept { return run.task->run_steps(site); }
  // The following operations need no work here: a wait is executed only after its condition holds,
  // and the device thread handles reach_latch and close_stream.
  CUresult operator()(wait_event&) const noexcept { return CUDA_SUCCESS; }
  CUresult operator()(wait_value&) const noexcept { return CUDA_SUCCESS; }
  CUresult operator()(reach_latch&) const noexcept { return CUDA_SUCCESS; }
  CUresult operator()(close_stream&) const noexcept { return CUDA_SUCCESS; }
};

}  // namespace

CUresult execute(operation& head, launch_site const& site) noexcept {
  return std::visit(operation_executor{site}, head.what);
}

void execute_fill(fill_memory const& fill) noexcept {
  switch (fill.width) {
    case 1: fill_with<std::uint8_t>(fill); break;
    case 2: fill_with<std::uint16_t>(fill); break;
    default: fill_with<std::uint32_t>(fill); break;
  }
}

void execute_write(write_value const& write, int device) noexcept {
  if (injection::armed() && injection::loses_value(device)) { return; }
  write.width == 4 ? store_value<std::uint32_t>(write) : store_value<std::uint64_t>(write);
}

void execute_call(call_host const& call) noexcept {
  inside_host_function = true;
  call.function(call.user);
  inside_host_function = false;
}

void abandon(operation& dropped) noexcept {
  if (auto* const record = std::get_if<record_event>(&dropped.what)) {
    record->record->abandon();
  } else if (auto* const freed = std::get_if<free_memory>(&dropped.what)) {
    memory_map::of_process().finish_free(freed->address);
  } else if (auto* const run = std::get_if<run_task>(&dropped.what)) {
    run->task->end();
  }
}

bool satisfied(wait_value const& wait) noexcept {
  return wait.width == 4 ? compare<std::uint32_t, std::int32_t>(wait)
                         : compare<std::uint64_t, std::int64_t>(wait);
}

bool in_host_function() noexcept { return inside_host_function; }

}  // namespace flotilla::cpu_driver

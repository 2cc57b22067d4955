// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures the duration of batches with the device's clock.

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "context/context_handle.hpp"
#include "dispatch/lane/completion_page.hpp"

namespace flotilla::dispatch {

/// Records an event before and after a batch, one batch at a time. The host's clock cannot measure
/// a batch, because the host sees the end of a batch only in the next pass, perhaps much later. If
/// the host saw the ends of two batches in one pass, the second batch would seem to take no time.
///
/// Threads: only the holder of the device's lease, with the context current. If the driver refuses
/// an event, there are no samples.
class kernel_timer {
 public:
  struct sample {
    std::uint32_t kernel;
    std::uint32_t tasks;  // number of all tasks
    std::uint32_t depth;  // number of tasks that ran one after another
    // number of chains in all batches on the device, including this batch
    std::uint32_t chains;
    std::uint32_t completions;  // number of completion nodes
    std::uint32_t waves;        // of a run that could be ordered; otherwise 0
    bool ordered;               // whether this run is ordered
    unsigned lane;
    std::uint64_t number;  // the last completion number that the batch writes
    std::size_t ahead;     // number of batches ahead of this one in the lane
    std::chrono::steady_clock::time_point begun;  // time of the launch
    // Time that the host spent in the launch call. The device may have been idle during this time.
    std::chrono::nanoseconds launching;
    std::chrono::nanoseconds entry;   // time of the entry node; 0 if there is none
    std::chrono::nanoseconds took{};  // time between the events minus `launching`
  };

  explicit kernel_timer(context::context_handle const& context) noexcept : context_(context) {}

  /// Begins a measurement if none is open. Call it before the batch is put into `stream`. Returns
  /// whether the batch is measured. If so, call `end` after the launch.
  [[nodiscard]] bool begin(CUstream stream) noexcept {
    if (open_ || (first_ == nullptr && !create())) { return false; }
    return context_.api().event_record(first_, stream) == CUDA_SUCCESS;
  }
  void end(CUstream stream, sample const& batch) noexcept {
    open_ = context_.api().event_record(last_, stream) == CUDA_SUCCESS;
    sample_ = batch;
  }

  /// Returns the measured batch if it has ended. Cost: one load, and two driver calls if the batch
  /// has ended.
  [[nodiscard]] std::optional<sample> result(completion_page const& page) noexcept {
    if (!open_ || page.number(sample_.lane) < sample_.number) { return std::nullopt; }
    driver::table const& api = context_.api();
    CUresult answer = api.event_query(last_);
    if (answer == CUDA_ERROR_NOT_READY) { return std::nullopt; }
    open_ = false;
    float milliseconds = 0;
    if (answer == CUDA_SUCCESS) { answer = api.event_elapsed_time(&milliseconds, first_, last_); }
    // This error need not be reported. If it is a fault, other driver calls return it as well. If
    // it is not, only this measurement is lost.
    if (answer != CUDA_SUCCESS) { return std::nullopt; }
    std::chrono::nanoseconds const elapsed{static_cast<std::int64_t>(milliseconds * 1e6F)};
    sample_.took = elapsed - sample_.launching;
    return sample_;
  }

  /// Returns the measured batch if it is still running. In the result, `took` is the time since the
  /// launch.
  [[nodiscard]] std::optional<sample> still_open(completion_page const& page) const noexcept {
    if (!open_ || page.number(sample_.lane) >= sample_.number) { return std::nullopt; }
    sample open = sample_;
    open.took = std::chrono::steady_clock::now() - sample_.begun;
    return open;
  }

  /// Forgets the measurement that is open.
  void forget() noexcept { open_ = false; }

  void destroy() noexcept {
    open_ = false;
    for (CUevent* const event : {&first_, &last_}) {
      if (*event != nullptr) { context_.api().event_destroy(std::exchange(*event, nullptr)); }
    }
  }

 private:
  bool create() noexcept {
    driver::table const& api = context_.api();
    if (last_ == nullptr && api.event_create(&last_, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
      return false;
    }
    return api.event_create(&first_, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
  }

  context::context_handle const& context_;
  CUevent first_ = nullptr;
  CUevent last_ = nullptr;
  bool open_ = false;
  sample sample_{};
};

}  // namespace flotilla::dispatch

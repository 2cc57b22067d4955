#pragma once
// Measures batches with the device's own clock.

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "context/context_handle.hpp"
#include "dispatch/lane/completion_page.hpp"

namespace flotilla::dispatch {

/// Records two events around one batch at a time. The host's clock is no substitute: the host sees
/// the end of a batch only when a pass looks, perhaps long after it, and then the next batch seems
/// to have taken no time.
///
/// Only the holder of the device's lease, with the context current. If the driver refuses an event
/// there are no samples.
class kernel_timer {
 public:
  struct sample {
    std::uint32_t kernel;
    std::uint32_t depth;        // how many tasks ran one after another
    std::uint32_t chains;       // side by side on the device when the batch began, its own included
    std::uint32_t completions;  // numbers that it writes
    unsigned lane;
    std::uint64_t number;                         // the last of its lane's numbers
    std::size_t ahead;                            // batches in its lane before it
    std::chrono::steady_clock::time_point begun;  // its launch
    // The host's time in the launch: the device may have waited for it.
    std::chrono::nanoseconds launching;
    std::chrono::nanoseconds entry;   // what runs before its first task
    std::chrono::nanoseconds took{};  // between the events, less `launching`
  };

  explicit kernel_timer(context::context_handle const& context) noexcept : context_(context) {}

  /// Call it before a batch goes into `stream`. @return whether the batch is measured; then call
  /// `end` after its launch.
  [[nodiscard]] bool begin(CUstream stream) noexcept {
    if (open_ || (first_ == nullptr && !create())) { return false; }
    return context_.api().event_record(first_, stream) == CUDA_SUCCESS;
  }
  void end(CUstream stream, sample const& batch) noexcept {
    open_ = context_.api().event_record(last_, stream) == CUDA_SUCCESS;
    sample_ = batch;
  }

  /// The measured batch, once it is done. Cost: a load; a driver call only when there is a result.
  [[nodiscard]] std::optional<sample> result(completion_page const& page) noexcept {
    if (!open_ || page.number(sample_.lane) < sample_.number) { return std::nullopt; }
    driver::table const& api = context_.api();
    CUresult answer = api.event_query(last_);
    if (answer == CUDA_ERROR_NOT_READY) { return std::nullopt; }
    open_ = false;
    float milliseconds = 0;
    if (answer == CUDA_SUCCESS) { answer = api.event_elapsed_time(&milliseconds, first_, last_); }
    if (answer != CUDA_SUCCESS) { return std::nullopt; }  // a fault is noticed elsewhere
    std::chrono::nanoseconds const elapsed{static_cast<std::int64_t>(milliseconds * 1e6F)};
    sample_.took = elapsed - sample_.launching;
    return sample_;
  }

  /// The batch that is being measured, with the time since its launch.
  [[nodiscard]] std::optional<sample> still_open(completion_page const& page) const noexcept {
    if (!open_ || page.number(sample_.lane) >= sample_.number) { return std::nullopt; }
    sample open = sample_;
    open.took = std::chrono::steady_clock::now() - sample_.begun;
    return open;
  }

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

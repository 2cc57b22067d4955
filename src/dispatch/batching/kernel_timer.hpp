#pragma once
// How long batches take, told by the device's own clock.

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "context/floating_context.hpp"
#include "dispatch/lane.hpp"

namespace flotilla::dispatch {

/// Two events around one batch at a time. The host's clock would not do: it sees the end of a batch when a pass comes to
/// look, which may be long after it, and then sees the next one as if it had taken nothing.
///
/// Only the holder of the device's lease, with the context current. A driver that refuses an event gives no samples.
class pace_probe {
 public:
  struct sample {
    std::uint32_t kernel;
    std::uint32_t depth;   // how many tasks followed one another
    std::uint32_t chains;  // side by side on the device as it began, its own included
    std::uint32_t marks;   // numbers it writes on its way
    unsigned lane;         // its place in the completion page
    std::uint64_t number;
    std::size_t behind;    // how many batches were in its lane before
    std::chrono::steady_clock::time_point begun;  // to launch it
    std::chrono::nanoseconds launching;  // what the host was at it, the device waiting perhaps
    std::chrono::nanoseconds ahead;      // what runs before the first of them
    std::chrono::nanoseconds took{};     // less that
  };

  explicit pace_probe(context::floating_context const& context) noexcept : context_(context) {}

  /// Before a batch goes into `stream`. @return whether it is measured: then `end` follows, unless it
  /// was not launched.
  [[nodiscard]] bool begin(CUstream stream) noexcept {
    if (open_ || (first_ == nullptr && !create())) { return false; }
    return context_.api().event_record(first_, stream) == CUDA_SUCCESS;
  }
  void end(CUstream stream, sample const& of) noexcept {
    open_ = context_.api().event_record(last_, stream) == CUDA_SUCCESS;
    of_ = of;
  }

  /// The batch that was measured, once it is done. Cost: a load; the driver is asked when there is something to hear.
  [[nodiscard]] std::optional<sample> result(completion_page const& page) noexcept {
    if (!open_ || page.number(of_.lane) < of_.number) { return std::nullopt; }
    driver::table const& api = context_.api();
    CUresult answer = api.event_query(last_);
    if (answer == CUDA_ERROR_NOT_READY) { return std::nullopt; }
    open_ = false;
    float milliseconds = 0;
    if (answer == CUDA_SUCCESS) { answer = api.event_elapsed_time(&milliseconds, first_, last_); }
    if (answer != CUDA_SUCCESS) { return std::nullopt; }  // a fault: others hear of it
    of_.took = std::chrono::nanoseconds{static_cast<std::int64_t>(milliseconds * 1e6F)} - of_.launching;
    return of_;
  }

  /// The batch that is being measured, with the time since it was launched.
  [[nodiscard]] std::optional<sample> still_open(completion_page const& page) const noexcept {
    if (!open_ || page.number(of_.lane) >= of_.number) { return std::nullopt; }
    sample made = of_;
    made.took = std::chrono::steady_clock::now() - of_.begun;
    return made;
  }

  void destroy() noexcept {
    open_ = false;
    for (CUevent* const each : {&first_, &last_}) {
      if (*each != nullptr) { context_.api().event_destroy(std::exchange(*each, nullptr)); }
    }
  }

 private:
  bool create() noexcept {
    driver::table const& api = context_.api();
    if (last_ == nullptr && api.event_create(&last_, CU_EVENT_DEFAULT) != CUDA_SUCCESS) { return false; }
    return api.event_create(&first_, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
  }

  context::floating_context const& context_;
  CUevent first_ = nullptr;
  CUevent last_ = nullptr;
  bool open_ = false;
  sample of_{};
};

}  // namespace flotilla::dispatch

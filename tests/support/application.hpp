// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// An application that uses the driver itself: it has a context, streams and events of its own.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "support/driver_in_use.hpp"

namespace flotilla::test {

/// A context of the application on the driver's first device. It is current only inside member
/// functions.
class application {
 public:
  application() {
    EXPECT_EQ(api().ctx_create(&context_, 0, 0), CUDA_SUCCESS);
    void* words = nullptr;
    EXPECT_EQ(api().mem_host_alloc(&words, word_count * sizeof(std::uint32_t),
                                   CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
              CUDA_SUCCESS);
    words_ = static_cast<std::uint32_t*>(words);
    std::fill_n(words_, word_count, 0u);
    pop();
  }
  /// Opens the gate, because a stream that waits at the gate would block the destruction.
  ~application() {
    open_gate();
    EXPECT_EQ(api().ctx_push_current(context_), CUDA_SUCCESS);
    EXPECT_EQ(api().ctx_synchronize(), CUDA_SUCCESS);
    for (CUevent const each : events_) { EXPECT_EQ(api().event_destroy(each), CUDA_SUCCESS); }
    for (CUstream const each : streams_) { EXPECT_EQ(api().stream_destroy(each), CUDA_SUCCESS); }
    EXPECT_EQ(api().mem_free_host(words_), CUDA_SUCCESS);
    pop();
    EXPECT_EQ(api().ctx_destroy(context_), CUDA_SUCCESS);
  }
  application(application const&) = delete;
  application& operator=(application const&) = delete;

  [[nodiscard]] CUcontext context() const { return context_; }
  CUstream make_stream() {
    CUstream made = nullptr;
    inside([&] { return api().stream_create(&made, CU_STREAM_NON_BLOCKING); });
    streams_.push_back(made);
    return made;
  }
  CUevent make_event() {
    CUevent made = nullptr;
    inside([&] { return api().event_create(&made, CU_EVENT_DISABLE_TIMING); });
    events_.push_back(made);
    return made;
  }
  void record(CUevent event, CUstream stream) {
    inside([&] { return api().event_record(event, stream); });
  }
  /// Makes the stream wait until `open_gate` has been called `opened` times.
  void wait_at_gate(CUstream stream, std::uint32_t opened = 1) {
    inside([&] {
      return api().stream_wait_value_32(stream, reinterpret_cast<CUdeviceptr>(words_), opened,
                                        CU_STREAM_WAIT_VALUE_GEQ);
    });
  }
  void open_gate(std::uint32_t opened = 1) {
    std::atomic_ref{words_[0]}.store(opened, std::memory_order_release);
  }
  /// Makes the stream write `value` to the word that `written` returns.
  void write(CUstream stream, std::uint32_t value) {
    inside([&] {
      return api().stream_write_value_32(stream, reinterpret_cast<CUdeviceptr>(words_ + 1), value,
                                         0);
    });
  }
  [[nodiscard]] std::uint32_t written() const {
    return std::atomic_ref{words_[1]}.load(std::memory_order_acquire);
  }

  /// Calls the driver with the context current.
  template <class Call>
  void inside(Call const& call) {
    EXPECT_EQ(api().ctx_push_current(context_), CUDA_SUCCESS);
    EXPECT_EQ(call(), CUDA_SUCCESS);
    pop();
  }

 private:
  static constexpr std::size_t word_count = 2;
  static driver::table const& api() { return driver_in_use(); }
  static void pop() {
    CUcontext popped = nullptr;
    EXPECT_EQ(api().ctx_pop_current(&popped), CUDA_SUCCESS);
  }

  CUcontext context_ = nullptr;
  std::uint32_t* words_ = nullptr;  // the gate, and the word of `write`
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
};

}  // namespace flotilla::test

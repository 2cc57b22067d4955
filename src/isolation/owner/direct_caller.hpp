// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sends requests as bytes to a worker that need not be the one that serves a device.

#include <cuda.h>

#include <array>
#include <chrono>
#include <cstring>
#include <mutex>
#include <span>

#include "isolation/channel/message.hpp"
#include "isolation/owner/worker_process.hpp"

namespace flotilla::isolated {

/// Holds a channel of the worker. One thread.
class direct_caller {
 public:
  /// @param limit  For each call. If the worker does not answer in time, it is lost.
  direct_caller(worker_process& worker, std::chrono::milliseconds limit)
      : worker_(worker), limit_(limit), number_(worker.take_channel()) {
    if (worker_process::is_shared(number_)) { lock_ = std::unique_lock{worker.shared_channel()}; }
  }
  ~direct_caller() { worker_.give_back_channel(number_); }
  direct_caller(direct_caller const&) = delete;
  direct_caller& operator=(direct_caller const&) = delete;

  [[nodiscard]] CUresult send(std::span<std::byte const> request) {
    channel_caller end{worker_.at(number_)};
    if (request.size() > end.room().size()) { return CUDA_ERROR_INVALID_VALUE; }
    std::memcpy(end.room().data(), request.data(), request.size());
    std::int32_t status = 0;
    std::size_t used = 0;
    using clock = channel_caller::clock;
    auto const until =
        limit_ == worker_process::no_limit ? clock::time_point::max() : clock::now() + limit_;
    if (!end.call(request.size(), worker_.lost(), answer_, status, used, until)) {
      worker_.lose(CUDA_ERROR_LAUNCH_FAILED, "its worker process does not answer");
      return static_cast<CUresult>(worker_.lost().load());
    }
    return static_cast<CUresult>(status);
  }

 private:
  worker_process& worker_;
  std::chrono::milliseconds limit_;
  int number_;
  std::unique_lock<std::mutex> lock_;
  std::array<std::byte, max_answer_bytes> answer_;
};

}  // namespace flotilla::isolated

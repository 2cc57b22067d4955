// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sends requests as bytes to a worker that need not be the one that serves a device.

#include <cuda.h>

#include <array>
#include <cstring>
#include <mutex>
#include <span>

#include "isolation/channel/message.hpp"
#include "isolation/owner/worker_process.hpp"

namespace flotilla::isolated {

/// Holds a channel of the worker. One thread.
class direct_caller {
 public:
  explicit direct_caller(worker_process& worker) : worker_(worker), number_(worker.take_channel()) {
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
    if (!end.call(request.size(), worker_.lost(), answer_, status, used)) {
      return static_cast<CUresult>(worker_.lost().load() != 0 ? worker_.lost().load()
                                                              : CUDA_ERROR_LAUNCH_FAILED);
    }
    return static_cast<CUresult>(status);
  }

 private:
  worker_process& worker_;
  int number_;
  std::unique_lock<std::mutex> lock_;
  std::array<std::byte, max_answer_bytes> answer_;
};

}  // namespace flotilla::isolated

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// One CPU device with its thread, its memory and its primary context.

#include <cuda.h>

#include "cpu_driver/context/primary.hpp"
#include "cpu_driver/memory/memory_account.hpp"
#include "cpu_driver/memory/memory_pool.hpp"
#include "cpu_driver/stream/device_thread.hpp"

namespace flotilla::cpu_driver {

class device {
 public:
  device(int ordinal, std::size_t capacity)
      : memory_(ordinal, capacity), pool_(ordinal), primary_(*this), thread_(ordinal) {}

  [[nodiscard]] int ordinal() const noexcept { return thread_.device(); }
  [[nodiscard]] memory_account& memory() noexcept { return memory_; }
  [[nodiscard]] memory_pool& pool() noexcept { return pool_; }
  [[nodiscard]] device_thread& thread() noexcept { return thread_; }
  [[nodiscard]] primary& primary_context() noexcept { return primary_; }

 private:
  memory_account memory_;
  memory_pool pool_;
  primary primary_;
  device_thread thread_;
};

}  // namespace flotilla::cpu_driver

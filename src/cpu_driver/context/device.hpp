#pragma once
// One CPU device: its thread, its memory, its primary context.

#include <cuda.h>

#include "cpu_driver/device_memory.hpp"
#include "cpu_driver/executor.hpp"
#include "cpu_driver/multiprocessors.hpp"
#include "cpu_driver/primary.hpp"

namespace flotilla::cpu_driver {

class device {
 public:
  device(int ordinal, std::size_t capacity) noexcept
      : ordinal_(ordinal), memory_(capacity), primary_(*this), queue_(*this) {}

  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] device_memory& memory() noexcept { return memory_; }
  [[nodiscard]] executor& queue() noexcept { return queue_; }
  [[nodiscard]] primary& primary_context() noexcept { return primary_; }
  [[nodiscard]] block_placement& placement() noexcept { return placement_; }  // the thread's own

 private:
  int const ordinal_;
  device_memory memory_;
  primary primary_;
  block_placement placement_;
  executor queue_;
};

}  // namespace flotilla::cpu_driver

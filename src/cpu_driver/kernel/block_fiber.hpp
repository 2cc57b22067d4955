// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fibers of a block, and queues of them.

#include <cstddef>
#include <cstdint>

#include <flotilla/kernel_language/image_abi.hpp>

#include "cpu_driver/kernel/fiber.hpp"

namespace flotilla::cpu_driver {

class block_runner;

/// A fiber that runs threads of a block one after the other. If a thread has to wait, its fiber
/// waits too.
struct block_fiber {
  block_fiber(block_runner& runner, std::size_t stack_bytes, void (*body)(void*))
      : owner(&runner), flow(stack_bytes, body, this) {}

  block_runner* owner;
  fiber flow;
  block_fiber* next = nullptr;  // the next fiber in the queue or list that contains this fiber
  bool idle = false;

  // The following members are valid while the fiber's thread waits in a warp operation.
  void* lane = nullptr;
  std::uint32_t mask = 0;
  cpu::warp_completion complete = nullptr;
};

/// A FIFO queue, linked by block_fiber::next.
struct fiber_queue {
  block_fiber* first = nullptr;
  block_fiber* last = nullptr;

  void push(block_fiber* added) {
    added->next = nullptr;
    (last != nullptr ? last->next : first) = added;
    last = added;
  }

  /// Returns null if the queue is empty.
  block_fiber* pop() {
    block_fiber* const taken = first;
    if (taken != nullptr && (first = taken->next) == nullptr) { last = nullptr; }
    return taken;
  }

  void take_all(fiber_queue& other) {
    if (other.first == nullptr) { return; }
    (last != nullptr ? last->next : first) = other.first;
    last = other.last;
    other = {};
  }
};

}  // namespace flotilla::cpu_driver

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operations of a stream, described as data. Operation objects are recycled
// (operation_pool.hpp), so enqueueing does not allocate in the steady state.

#include <cuda.h>

#include <flotilla/kernel_language/image_abi.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>

#include "cpu_driver/base/latch.hpp"
#include "cpu_driver/stream/event.hpp"

namespace flotilla::cpu_driver {

class stream;
class loaded_image;
class stream_task;

/// Packed arguments up to this size are stored in the operation. Larger arguments are on the heap.
inline constexpr std::size_t inline_argument_bytes = 128;

struct launch_kernel {
  loaded_image const* image;         // kept alive by device_thread::release_after_pending()
  cpu::kernel_record const* kernel;  // a kernel of `image`
  cpu::index3 grid_size;
  cpu::index3 block_size;
  std::uint32_t dynamic_shared_bytes;
  std::byte* arguments;  // packed; points into `large_arguments` or into the operation
  std::unique_ptr<std::byte[]> large_arguments;
};

struct copy_bytes {
  void* to;
  void const* from;  // ignored if `staged` is set
  std::size_t bytes;
  // Copy of pageable source memory, which may change after the call.
  std::unique_ptr<std::byte[]> staged;
};

struct fill_memory {
  void* address;
  std::uint32_t value;
  std::uint8_t width;  // bytes per element: 1, 2 or 4
  std::size_t elements;
};

struct record_event {
  std::shared_ptr<event_record> record;
};
struct wait_event {
  std::shared_ptr<event_record> record;
};

struct write_value {
  void* address;
  std::uint64_t value;
  std::uint8_t width;  // in bytes: 4 or 8
};

struct wait_value {
  void const* address;
  std::uint64_t value;
  unsigned comparison;  // CU_STREAM_WAIT_VALUE_*, without the flush bit
  std::uint8_t width;
};

struct call_host {
  CUhostFn function;
  void* user;
};
struct free_memory {
  CUdeviceptr address;
};

struct run_task {
  stream_task* task;  // valid until task->end()
};

/// Counts down the latch that a synchronising thread waits for.
struct reach_latch {
  latch* reached;
};

/// The last operation of a stream. When it is reached, the device thread ends the stream.
struct close_stream {};

/// With this layout, a launch with few arguments uses only two cache lines. The device thread's
/// core must fetch these lines from the submitting core, which is most of the cost of an empty
/// launch.
struct alignas(64) operation {
  operation* next = nullptr;
  stream* where = nullptr;
  std::uint64_t sequence = 0;  // order within the stream group: see legacy_stream_order
  std::variant<std::monostate, launch_kernel, copy_bytes, fill_memory, record_event, wait_event,
               write_value, wait_value, call_host, free_memory, run_task, reach_latch, close_stream>
      what;
  alignas(16) std::byte arguments[inline_argument_bytes];  // arguments of a launch; never cleared

  operation() noexcept {}  // NOLINT: with `= default`, `operation{}` would clear the arguments
};

}  // namespace flotilla::cpu_driver

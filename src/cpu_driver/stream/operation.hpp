#pragma once
// What streams are made of: one operation as data. Operations are recycled (operation_pool.hpp), so
// that enqueueing allocates nothing in the steady state.

#include <cuda.h>

#include <flotilla/cpu_image.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>

#include "cpu_driver/event.hpp"
#include "cpu_driver/latch.hpp"

namespace flotilla::cpu_driver {

class stream;
class loaded_image;
class graph_run;

/// Packed arguments up to this size stand in the operation itself; larger ones are on the heap.
inline constexpr std::size_t inline_argument_bytes = 128;

struct launch_kernel {
  loaded_image const* image;         // alive: see executor::bury()
  cpu::kernel_record const* kernel;  // of that image
  cpu::index3 grid_size;
  cpu::index3 block_size;
  std::uint32_t dynamic_shared_bytes;
  std::byte* arguments;  // packed: in `large_arguments`, or in the operation
  std::unique_ptr<std::byte[]> large_arguments;
};

struct copy_bytes {
  void* to;
  void const* from;  // in `staged` when that is set
  std::size_t bytes;
  std::unique_ptr<std::byte[]> staged;  // of pageable memory, which the caller may reuse at once
};

struct fill_memory {
  void* address;
  std::uint32_t value;
  std::uint8_t width;  // bytes an element: 1, 2 or 4
  std::size_t elements;
};

struct record_event {
  std::shared_ptr<occurrence> what;
};
struct wait_event {
  std::shared_ptr<occurrence> what;
};

struct write_value {
  void* address;
  std::uint64_t value;
  std::uint8_t width;  // bytes: 4 or 8
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

/// One launch of an executable graph, which owns it.
struct run_graph {
  graph_run* what;
};

/// The stream has got there: a synchronise counts it down.
struct reach_latch {
  latch* where;
};

/// The last operation of a stream: the device thread lets go of it.
struct close_stream {};

/// Laid out so that a launch with few arguments touches two cache lines: each has to travel from
/// the submitting core to the device's, which is most of what an empty launch costs.
struct alignas(64) operation {
  operation* next = nullptr;
  stream* where = nullptr;
  std::uint64_t sequence =
      0;  // within the context, given by the device thread: orders the NULL stream
  std::variant<std::monostate, launch_kernel, copy_bytes, fill_memory, record_event, wait_event,
               write_value, wait_value, call_host, free_memory, run_graph, reach_latch, close_stream>
      what;
  alignas(16) std::byte arguments[inline_argument_bytes];  // of a launch; never cleared

  operation() noexcept {}  // NOLINT: `= default` would have every `operation{}` clear the arguments
};

}  // namespace flotilla::cpu_driver

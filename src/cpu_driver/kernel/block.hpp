// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the threads of one block on the calling OS thread.
//
// A fiber calls the kernel function for one thread after the other. If a thread has to wait at a
// barrier or in a warp operation, its fiber is suspended, and another fiber runs the threads that
// have not started. So a kernel without barriers and warp operations needs no switches between
// fibers. A kernel with barriers needs one switch for each thread and barrier. The next block
// reuses the fibers.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include <flotilla/kernel_language/image_abi.hpp>

#include "cpu_driver/kernel/block_fiber.hpp"
#include "cpu_driver/kernel/grid.hpp"
#include "cpu_driver/kernel/kernel_fault.hpp"

namespace flotilla::cpu_driver {

class block_runner {
 public:
  /// @return null  There is no memory.
  [[nodiscard]] static block_runner* of_this_thread() noexcept;

  block_runner();
  ~block_runner() = default;
  block_runner(block_runner const&) = delete;
  block_runner& operator=(block_runner const&) = delete;

  /// Prepares this object for the blocks of the grid `what`, which must live until the last block
  /// has run. If there is not enough memory, returns false and writes a message to stderr.
  [[nodiscard]] bool begin(grid const& what) noexcept;

  /// Runs one block of the grid that was passed to begin(). The block sees `multiprocessor` as the
  /// number of its multiprocessor.
  [[nodiscard]] grid_end run(cpu::index3 block_index, std::uint32_t multiprocessor);

 private:
  struct warp {
    std::uint32_t waiting = 0;  // bit mask of the lanes that wait in warp_step()
    block_fiber* at[cpu::warp_lanes];
  };
  struct free_memory {
    void operator()(void* p) const { std::free(p); }
  };

  static block_runner& of(cpu::block_services* s) { return *static_cast<block_runner*>(s->driver); }
  static void fiber_body(void* self);

  // Implementations of the functions in cpu::block_services.
  static int sync_threads(cpu::block_services* services, bool predicate);
  static void warp_step(cpu::block_services* services, std::uint32_t mask, void* lane,
                        cpu::warp_completion complete);
  static void yield(cpu::block_services* services);
  [[noreturn]] void trap();
  [[noreturn]] void assert_failed(char const* expression, char const* file, unsigned line,
                                  char const* function);
  int print(char const* format, std::va_list arguments);

  // Messages on stderr (block_messages.cpp).
  void complain(char const* what) const;
  void report_deadlock() const;
  void report_assert(char const* expression, char const* file, unsigned line,
                     char const* function) const;

  /// Makes the block see the launch to which the record of a twin assigns it.
  void enter_twin_block(std::uint32_t block);

  // Scheduling of fibers.
  [[nodiscard]] block_fiber* idle_fiber();
  [[nodiscard]] block_fiber* next_fiber();
  void wake_after_exits();
  bool complete_warp(std::uint32_t number, std::uint32_t mask, cpu::warp_completion complete);
  void release_barrier();
  void go_to(block_fiber* next);
  [[noreturn]] void abandon(grid_end how);
  void drop_parked_fibers();

  fault_stack fault_stack_;
  cpu::block_services services_{};
  grid const* grid_ = nullptr;
  // The kernel whose threads run, and the addresses of its arguments.
  cpu::kernel_record const* kernel_ = nullptr;
  void* const* arguments_ = nullptr;
  std::vector<void*> twin_arguments_;  // `arguments_` refers to it while the grid is a twin's
  grid_end end_ = grid_end::completed;

  execution os_thread_;
  block_fiber* running_ = nullptr;  // null while no fiber runs
  fiber_queue runnable_;
  block_fiber* idle_ =
      nullptr;  // LIFO list: the stack of the newest element may still be in the cache
  std::vector<std::unique_ptr<block_fiber>> fibers_;
  std::size_t stack_bytes_ = 0;

  fiber_queue at_barrier_;
  std::uint32_t barrier_arrived_ = 0;
  int barrier_true_ = 0;
  // The result of the last barrier. Every thread reads it before the next barrier ends.
  int barrier_result_ = 0;
  warp warps_[cpu::max_block_threads / cpu::warp_lanes];

  std::unique_ptr<void, free_memory> dynamic_shared_;
  std::size_t dynamic_shared_bytes_ = 0;
};

}  // namespace flotilla::cpu_driver

#pragma once
// Runs the threads of one block on the calling OS thread.
//
// One fiber runs thread after thread by plain calls. If a thread has to wait at a barrier or in a
// warp operation, its fiber is parked with the thread's frames, and another fiber continues with
// the threads that have not begun. So a kernel without barriers needs no switches, and a kernel
// with barriers needs one switch for each thread and barrier. Fibers are kept for the next block.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include <flotilla/kernel_language/image_abi.hpp>

#include "cpu_driver/kernel/block_fiber.hpp"
#include "cpu_driver/kernel/grid.hpp"

namespace flotilla::cpu_driver {

class block_runner {
 public:
  [[nodiscard]] static block_runner& of_this_thread();

  block_runner();
  ~block_runner();
  block_runner(block_runner const&) = delete;
  block_runner& operator=(block_runner const&) = delete;

  /// Prepares for blocks of `what`, which must live until the last of them has run. False if there
  /// is no memory, with a message on stderr.
  [[nodiscard]] bool begin(grid const& what) noexcept;

  /// Runs one block of that grid, as if on that multiprocessor.
  [[nodiscard]] grid_end run(cpu::index3 block_index, std::uint32_t multiprocessor);

 private:
  struct warp {
    std::uint32_t waiting = 0;  // lanes inside warp_step
    block_fiber* at[cpu::warp_lanes];
  };
  struct free_memory {
    void operator()(void* p) const { std::free(p); }
  };

  static block_runner& of(cpu::block_services* s) { return *static_cast<block_runner*>(s->driver); }
  static void fiber_body(void* self);

  // The services.
  static int sync_threads(cpu::block_services* services, bool predicate);
  static void warp_step(cpu::block_services* services, std::uint32_t mask, void* lane,
                        cpu::warp_completion complete);
  static void yield(cpu::block_services* services);
  [[noreturn]] void trap();
  [[noreturn]] void assert_failed(char const* expression, char const* file, unsigned line,
                                  char const* function);
  int print(char const* format, std::va_list arguments);

  // Messages (block_messages.cpp).
  void complain(char const* what) const;
  void report_deadlock() const;
  void report_assert(char const* expression, char const* file, unsigned line,
                     char const* function) const;

  // Scheduling. All but `run` are called on a fiber of the block.
  [[nodiscard]] block_fiber* idle_fiber();
  [[nodiscard]] block_fiber* next_fiber();
  void wake_after_exits();
  bool complete_warp(std::uint32_t number, std::uint32_t mask, cpu::warp_completion complete);
  void release_barrier();
  void go_to(block_fiber* next);
  [[noreturn]] void abandon(grid_end how);
  void drop_parked_fibers();

  cpu::block_services services_{};
  grid const* grid_ = nullptr;
  grid_end end_ = grid_end::completed;

  execution os_thread_;
  block_fiber* running_ = nullptr;  // null while no fiber runs
  fiber_queue runnable_;
  block_fiber* idle_ = nullptr;  // last in, first out, because its stack is in the cache
  std::vector<std::unique_ptr<block_fiber>> fibers_;
  std::size_t stack_bytes_ = 0;

  fiber_queue at_barrier_;
  std::uint32_t barrier_arrived_ = 0;
  int barrier_true_ = 0;
  int barrier_result_ = 0;  // of the last barrier: the next cannot end before all have read it
  warp warps_[cpu::max_block_threads / cpu::warp_lanes];

  std::unique_ptr<void, free_memory> dynamic_shared_;
  std::size_t dynamic_shared_bytes_ = 0;
};

}  // namespace flotilla::cpu_driver

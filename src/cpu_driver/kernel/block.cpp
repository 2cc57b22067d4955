// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/kernel/block.hpp"

#include <algorithm>
#include <new>

#include "base/per_thread.hpp"
#include "cpu_driver/kernel/fiber_switch.hpp"
#include "cpu_driver/kernel/ordered_twin.hpp"
#include "cpu_driver/kernel/twin.hpp"

namespace flotilla::cpu_driver {
namespace {

// Code from a host compiler, and printf, have large frames; with sanitizers, even larger ones.
#if defined(FLOTILLA_ASAN) || defined(FLOTILLA_TSAN)
constexpr std::size_t least_stack_bytes = 256 * 1024;
#else
constexpr std::size_t least_stack_bytes = 64 * 1024;
#endif
// Added to the size that the application has set for GPU code: host code has larger frames.
constexpr std::size_t stack_margin_bytes = 32 * 1024;
constexpr std::size_t shared_alignment = 128;

}  // namespace

block_runner* block_runner::of_this_thread() noexcept {
  try {
    return &base::per_thread<block_runner>::get();
  } catch (std::bad_alloc const&) { return nullptr; }
}

block_runner::block_runner() {
  adopt_thread(os_thread_);
  services_.driver = this;
  services_.sync_threads = &sync_threads;
  services_.warp_step = &warp_step;
  services_.yield = &yield;
  services_.trap = [](cpu::block_services* s) { of(s).trap(); };
  services_.assert_failed = [](cpu::block_services* s, char const* expression, char const* file,
                               unsigned line, char const* function) {
    of(s).assert_failed(expression, file, line, function);
  };
  services_.print = [](cpu::block_services* s, char const* format, std::va_list arguments) {
    return of(s).print(format, arguments);
  };
  services_.allocate = [](cpu::block_services* s, std::size_t bytes) {
    grid_hooks const& hooks = of(s).grid_->hooks;
    return hooks.allocate(hooks.user, bytes);
  };
  services_.release = [](cpu::block_services* s, void* address) {
    grid_hooks const& hooks = of(s).grid_->hooks;
    if (address != nullptr) { hooks.release(hooks.user, address); }
  };
}

bool block_runner::begin(grid const& what) noexcept {
  grid_ = &what;
  kernel_ = what.twin_of != nullptr ? what.twin_of : what.kernel;
  arguments_ = what.arguments;
  services_.grid_size = what.grid_size;
  services_.block_size = what.block_size;
  services_.thread_count = what.block_size.x * what.block_size.y * what.block_size.z;

  std::size_t const wanted = std::max(least_stack_bytes, what.stack_bytes + stack_margin_bytes);
  if (wanted > stack_bytes_) {
    idle_ = nullptr;
    fibers_.clear();  // all fibers are idle, because no block is running
    stack_bytes_ = wanted;
  }
  if (what.dynamic_shared_bytes > dynamic_shared_bytes_) {
    std::size_t const bytes =
        (what.dynamic_shared_bytes + shared_alignment - 1) / shared_alignment * shared_alignment;
    dynamic_shared_.reset(std::aligned_alloc(shared_alignment, bytes));
    dynamic_shared_bytes_ = dynamic_shared_ ? bytes : 0;
    if (!dynamic_shared_) {
      complain("out of memory while allocating dynamic shared memory");
      return false;
    }
  }
  services_.dynamic_shared = dynamic_shared_.get();
  return true;
}

grid_end block_runner::run(cpu::index3 block_index, std::uint32_t multiprocessor) {
  services_.block_index = block_index;
  if (grid_->twin_of != nullptr) { enter_twin_block(block_index.x); }
  services_.multiprocessor = multiprocessor;
  services_.next_thread = 0;
  services_.next_index = {0, 0, 0};
  services_.exited_count = 0;
  std::fill_n(services_.exited, (services_.thread_count + cpu::warp_lanes - 1) / cpu::warp_lanes,
              0u);
  end_ = grid_end::completed;

  running_ = idle_fiber();
  running_kernel const mark{kernel_->name, grid_->device, services_};
  if (running_ != nullptr) { switch_execution(os_thread_, running_->flow); }
  if (end_ != grid_end::completed) {
    drop_parked_fibers();
  } else if (grid_->ordered) {
    note_block_ended(grid_->arguments, block_index.x);
  }
  return end_;
}

void block_runner::enter_twin_block(std::uint32_t block) {
  twin_block const found = find_twin_block(grid_->arguments, block);
  services_.grid_size = found.grid_size;
  services_.block_index = found.block_index;
  point_to_arguments(found.arguments, *kernel_, twin_arguments_);
  arguments_ = twin_arguments_.data();
}

void block_runner::fiber_body(void* self) {
  auto& fiber = *static_cast<block_fiber*>(self);
  block_runner& runner = *fiber.owner;
  for (;;) {
    runner.kernel_->run_threads(&runner.services_, runner.arguments_);
    fiber.idle = true;
    fiber.next = runner.idle_;
    runner.idle_ = &fiber;
    runner.go_to(runner.next_fiber());
  }
}

// Returns an idle fiber, or creates one. If there is no memory for another fiber, returns null and
// sets `end_`.
block_fiber* block_runner::idle_fiber() {
  if (idle_ == nullptr) {
    std::unique_ptr<block_fiber> made;
    try {
      made = std::make_unique<block_fiber>(*this, stack_bytes_, &fiber_body);
      fibers_.reserve(fibers_.size() + 1);
    } catch (std::bad_alloc const&) { made = nullptr; }
    if (!made || !made->flow.valid()) {
      complain("out of memory while allocating the stacks of the block's threads");
      end_ = grid_end::trapped;
      return nullptr;
    }
    fibers_.push_back(std::move(made));
    return fibers_.back().get();
  }
  block_fiber* const f = idle_;
  idle_ = f->next;
  f->idle = false;
  return f;
}

// Returns a fiber that can run now. Returns null if all threads have ended, if the block is
// deadlocked, or if there is no memory for another fiber.
block_fiber* block_runner::next_fiber() {
  if (block_fiber* const f = runnable_.pop()) { return f; }
  if (services_.next_thread < services_.thread_count) { return idle_fiber(); }
  wake_after_exits();
  if (block_fiber* const f = runnable_.pop()) { return f; }
  if (services_.exited_count < services_.thread_count) {
    report_deadlock();
    end_ = grid_end::trapped;
  }
  return nullptr;
}

// Completes the barrier and the warp operations for which only exited threads are missing. A thread
// that exits does not check for this. Instead, next_fiber() calls this function when no thread can
// run.
void block_runner::wake_after_exits() {
  if (at_barrier_.first != nullptr &&
      barrier_arrived_ + services_.exited_count == services_.thread_count) {
    release_barrier();
  }
  for (std::uint32_t w = 0; w * cpu::warp_lanes < services_.thread_count; ++w) {
    for (std::uint32_t l = 0; l < cpu::warp_lanes; ++l) {
      if (warps_[w].waiting >> l & 1u) {
        complete_warp(w, warps_[w].at[l]->mask, warps_[w].at[l]->complete);
      }
    }
  }
}

// Switches from the running fiber to `next`. If `next` is null, switches to the OS thread, which
// ends the block. If the running fiber must continue later, the caller must first put it into a
// queue.
[[gnu::always_inline]] inline void block_runner::go_to(block_fiber* next) {
  block_fiber& self = *running_;
  if (next == &self) { return; }
  cpu::index3 const index = services_.thread_index;
  std::uint32_t const number = services_.thread_number;
  running_ = next;
  switch_execution(self.flow, next != nullptr ? static_cast<execution&>(next->flow) : os_thread_);
  services_.thread_index = index;
  services_.thread_number = number;
}

void block_runner::abandon(grid_end how) {
  end_ = how;
  go_to(nullptr);
  __builtin_unreachable();  // not reached: drop_parked_fibers() discards the fiber's stack
}

void block_runner::drop_parked_fibers() {
  runnable_ = {};
  at_barrier_ = {};
  barrier_arrived_ = 0;
  barrier_true_ = 0;
  for (warp& w : warps_) { w.waiting = 0; }
  for (auto& f : fibers_) {
    if (f->idle) { continue; }
    f->flow.restart();
    f->idle = true;
    f->next = idle_;
    idle_ = f.get();
  }
}

int block_runner::sync_threads(cpu::block_services* services, bool predicate) {
  block_runner& self = of(services);
  ++self.barrier_arrived_;
  self.barrier_true_ += predicate;
  if (self.barrier_arrived_ + services->exited_count == services->thread_count) {
    self.release_barrier();
  } else {
    self.at_barrier_.push(self.running_);
    self.go_to(self.next_fiber());
  }
  return self.barrier_result_;
}

void block_runner::release_barrier() {
  barrier_result_ = barrier_true_;
  barrier_arrived_ = 0;
  barrier_true_ = 0;
  runnable_.take_all(at_barrier_);
}

void block_runner::warp_step(cpu::block_services* services, std::uint32_t mask, void* lane,
                             cpu::warp_completion complete) {
  block_runner& self = of(services);
  std::uint32_t const w = services->thread_number / cpu::warp_lanes;
  std::uint32_t const l = services->thread_number % cpu::warp_lanes;
  if ((mask >> l & 1u) == 0) {
    self.complain("the mask of a warp operation does not include the calling thread's lane");
    self.abandon(grid_end::trapped);
  }
  block_fiber* const mine = self.running_;
  mine->lane = lane;
  mine->mask = mask;
  mine->complete = complete;
  self.warps_[w].at[l] = mine;
  self.warps_[w].waiting |= 1u << l;
  if (!self.complete_warp(w, mask, complete)) { self.go_to(self.next_fiber()); }
}

// If all lanes of the mask have arrived, completes the warp operation and returns true. The waiting
// lanes then become runnable, except for the lane of the running thread, which simply continues.
bool block_runner::complete_warp(std::uint32_t number, std::uint32_t mask,
                                 cpu::warp_completion complete) {
  warp& w = warps_[number];
  std::uint32_t const lanes_there_are =
      std::min(services_.thread_count - number * cpu::warp_lanes, cpu::warp_lanes);
  std::uint32_t const all = lanes_there_are == cpu::warp_lanes ? ~0u : (1u << lanes_there_are) - 1;
  std::uint32_t const needed = mask & all & ~services_.exited[number];
  if ((needed & ~w.waiting) != 0) { return false; }

  void* lanes[cpu::warp_lanes];
  for (std::uint32_t l = 0; l < cpu::warp_lanes; ++l) {
    if ((needed >> l & 1u) == 0) { continue; }
    block_fiber const& f = *w.at[l];
    if (f.mask != mask || f.complete != complete) { return false; }
    lanes[l] = f.lane;
  }
  complete(lanes, needed);
  w.waiting &= ~needed;
  for (std::uint32_t l = 0; l < cpu::warp_lanes; ++l) {
    if ((needed >> l & 1u) != 0 && w.at[l] != running_) { runnable_.push(w.at[l]); }
  }
  return true;
}

void block_runner::yield(cpu::block_services* services) {
  block_runner& self = of(services);
  bool const more_to_begin = services->next_thread < services->thread_count;
  if (!more_to_begin && self.runnable_.first == nullptr) { return; }
  // Threads that have not started run first. Otherwise two threads could yield to each other
  // forever while they wait for a thread that has not started.
  block_fiber* const next = more_to_begin ? self.idle_fiber() : self.runnable_.pop();
  if (next == nullptr) { self.abandon(grid_end::trapped); }
  self.runnable_.push(self.running_);
  self.go_to(next);
}

void block_runner::trap() { abandon(grid_end::trapped); }

void block_runner::assert_failed(char const* expression, char const* file, unsigned line,
                                 char const* function) {
  report_assert(expression, file, line, function);
  abandon(grid_end::assert_failed);
}

}  // namespace flotilla::cpu_driver

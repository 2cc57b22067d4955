#pragma once
/// What a submitter holds of a task.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <flotilla/device.hpp>
#include <flotilla/export.hpp>
#include <flotilla/settings.hpp>

namespace flotilla {

namespace dispatch {
class core;
}

class completion;
class ticket;

/// Names a task without keeping anything of it: what `after` is made of. Valid to pass on while the
/// ticket it was taken from lives.
struct task_id {
  dispatch::core* runtime = nullptr;
  std::uint32_t slot = 0;
  std::uint64_t generation = 0;
};

/// A task that was submitted. Movable, not copyable: the error of a failed task is kept as long as its
/// ticket lives. A ticket may outlive its runtime: every task has ended by then. Dropping a ticket
/// drops no task.
///
/// A moved-from or default-made ticket names no task: `valid()` is false and all else throws
/// invalid_argument.
class FLOTILLA_EXPORT [[nodiscard]] ticket {
 public:
  ticket() noexcept = default;
  ticket(ticket&& other) noexcept;
  ticket& operator=(ticket&& other) noexcept;
  ~ticket();

  [[nodiscard]] bool valid() const noexcept { return id_.runtime != nullptr; }
  [[nodiscard]] task_id id() const noexcept { return id_; }

  /// Whether the task has ended, well or badly. In single-threaded mode it pumps once first.
  /// @throws used_after_fork
  /// Threads  any; const calls of one ticket may run at once.
  /// Blocks   never.
  /// Cost     three loads, no driver call (but for the pump).
  [[nodiscard]] bool ready() const;

  /// Waits until the task has ended, and throws what went wrong with it, as often as it is asked.
  /// The caller helps while it waits: it launches tasks that nobody has launched yet, and runs callables
  /// that it submitted itself or that stand between it and this task.
  /// @param how  How to wait; by default as the task's device is set (see `schedule`). It is this thread's alone: workers
  ///             go by the devices' schedules. `blocking` sleeps on an event that is recorded behind all that the task's
  ///             stream has been given so far: in a stream that others keep full it wakes later than the task ended.
  /// @throws driver_error, dependency_failed, poisoned, or what the callable threw
  /// @throws would_deadlock  The calling thread is inside a callable, and only that thread could let this
  ///                         task go on. Nothing has changed; the task still runs, and ends, later.
  /// Threads  any, also inside a callable and inside an oneTBB task; no oneTBB task is run while waiting.
  void wait(std::optional<schedule> how = std::nullopt) const;

  /// The same for a limited time; throws as `wait` does once the task has ended badly. Waits as the task's device is set;
  /// the driver has no wait with an end, so with `blocking` it sleeps a time and looks, as `schedule` says, and not past
  /// `when`: to be seen up to 0.5 ms late is the price of a time limit.
  /// @return whether the task has ended; false changes nothing.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point when) const;
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time) const {
    return wait_until(std::chrono::steady_clock::now() +
                      std::chrono::ceil<std::chrono::steady_clock::duration>(time));
  }

  /// Runs `callable(std::exception_ptr)` once, after the task has ended on the device, well (null) or badly (what
  /// `wait` throws). It runs on a worker, or on a thread that pumps, waits for a completion, or waits for all; in
  /// single-threaded mode inside any pump or wait; never inside `then`, and without the device's context current.
  /// It may submit, wait for tickets and call `then`; it must leave the thread's context stack as found, and must
  /// not end the runtime. The ticket may be dropped meanwhile. The end of the runtime, or its being poisoned,
  /// runs what is open first; on a ticket that outlived its runtime, `callable` runs at once, on this thread.
  /// Needs <flotilla/completion.hpp>, which <flotilla/runtime.hpp> includes.
  /// @return What comes once `callable` has returned; it may be dropped. What `callable` throws is its error.
  /// @throws invalid_argument  A null callable. Nothing was attached.
  /// @throws used_after_fork
  /// Threads  any, also inside a callable.
  /// Blocks   never.
  /// Cost     two or three allocations and a lock; none of it is paid by tasks without one. While one is open, one
  ///          worker for all keeps looking, as the device's schedule says: no host function is enqueued.
  template <class F>
    requires std::invocable<std::decay_t<F>&, std::exception_ptr>
  completion then(F&& callable) const;

  /// The device that has, or had, the task; empty while a task for any device is with none. Asked for the first
  /// time when such a task has long ended, it may be empty too: the runtime keeps no record of ended tasks.
  [[nodiscard]] std::optional<device_ordinal> device() const;

 private:
  friend class dispatch::core;
  void drop() noexcept;

  task_id id_;
  mutable std::uint32_t device_ = 0;
};

/// The tasks that another is to run after. Up to 4 without an allocation.
class FLOTILLA_EXPORT dependency_list {
 public:
  struct item {
    item(ticket const& of) : id{of.id()} {}
    item(task_id of) : id{of} {}
    task_id id;
  };
  dependency_list() noexcept = default;
  dependency_list(std::initializer_list<item> items) {
    for (item const& each : items) { add(each.id); }
  }
  dependency_list(std::span<ticket const> tickets) {
    for (ticket const& each : tickets) { add(each.id()); }
  }
  dependency_list(std::vector<ticket> const& tickets)
      : dependency_list{std::span<ticket const>{tickets}} {}

  void add(ticket const& of) { add(of.id()); }
  void add(task_id id) {
    if (size_ < inline_size) {
      first_[size_] = id;
    } else {
      rest_.push_back(id);
    }
    ++size_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] task_id operator[](std::size_t i) const {
    return i < inline_size ? first_[i] : rest_[i - inline_size];
  }

 private:
  static constexpr std::size_t inline_size = 4;
  std::size_t size_ = 0;
  task_id first_[inline_size];
  std::vector<task_id> rest_;
};

}  // namespace flotilla

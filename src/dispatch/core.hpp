#pragma once
// A runtime behind its public header: its devices, slots, kernels, workers, and the life of a task from
// submit to end.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/runtime.hpp>
#include <flotilla/settings_report.hpp>

#include "base/fork_guard.hpp"
#include "base/sharded_count.hpp"
#include "context/description.hpp"
#include "context/plan.hpp"
#include "dispatch/continuations.hpp"
#include "dispatch/device_queue.hpp"
#include "dispatch/failure.hpp"
#include "dispatch/kernel_table.hpp"
#include "dispatch/limbo.hpp"
#include "dispatch/recorded_part.hpp"
#include "dispatch/schedule.hpp"
#include "dispatch/slot_pool.hpp"
#include "dispatch/task_state.hpp"
#include "dispatch/worker_pool.hpp"

namespace flotilla::dispatch {

class core {
 public:
  explicit core(runtime_options options);
  core(core const&) = delete;
  core& operator=(core const&) = delete;
  /// Ends the runtime: waits for its tasks, frees what it has, and itself too once no ticket is left.
  static void end_runtime(core* self) noexcept;

  // ---- submit.cpp ----
  /// @param what  A `launch const`, a `transfer const`, or a `work`, which is moved from.
  /// @param made  Made a ticket of the task. By reference, as other results here are words rather than optionals: what
  ///              is returned through memory is read back at once, in another width, and that stalls.
  /// @return false only where `may_wait` is false and the window is full.
  template <class What>
  bool submit(What& what, task_options const& options, bool may_wait, ticket& made);
  /// For what is submitted in steps: slots are taken, filled, opened, and published. What is opened must be published.
  /// One slot of each of these devices, all or none; waits where a window is full, with none in hand.
  void take_slots(std::span<unsigned const> devices, urgency level, std::span<slot_address> slots);
  void give_back(std::span<slot_address const> slots) noexcept;
  void fill(slot_address address, replayed_part const& what, task_options const& options);
  /// What the task will be once it is open.
  [[nodiscard]] task_id id_when_open(slot_address address) noexcept;
  void open_in(slot_address address, unsigned place, ticket& handed) noexcept;
  void publish_in(slot_address address, unsigned place);

  // ---- check.cpp ----
  void check_task(launch const& asked, std::optional<device_ordinal> device) const;
  void check_task(transfer const& asked, std::optional<device_ordinal> device) const;
  void check_task(work const& asked, std::optional<device_ordinal> device, std::string_view label) const;
  void check_after(dependency_list const& after, std::size_t most = 0xffff) const;

  // ---- wait.cpp ----
  [[nodiscard]] bool ready(ticket const& of);
  /// @return whether it has ended; throws its error if so.
  bool wait(ticket const& of, std::optional<schedule> how,
            std::optional<std::chrono::steady_clock::time_point> until);
  void wait_idle();
  bool pump();
  /// @param known  What the ticket remembers, 1 + the device; brought up to date.
  [[nodiscard]] std::optional<device_ordinal> device_of(task_id id, std::uint32_t& known) noexcept;

  // ---- ticket_count.cpp ----
  void drop_ticket(slot_address slot, std::uint64_t generation) noexcept;

  // ---- continuing.cpp ----
  /// `what` runs once after the task, or after `on`.
  std::shared_ptr<completion_state> continue_after(task_id id, std::unique_ptr<detail::continuation> what);
  static std::shared_ptr<completion_state> continue_after(std::shared_ptr<completion_state> const& on,
                                                          std::unique_ptr<detail::continuation> what);
  /// What is done once all have ended. At least one.
  std::shared_ptr<completion_state> gather(std::span<ticket const> tickets);
  /// Waits until it is done, helping. @return false: the time is over.
  bool wait(completion_state const& of, std::optional<std::chrono::steady_clock::time_point> until);
  void pump_for_ready();
  /// @return the index of one that has ended; empty: the time is over.
  std::optional<std::size_t> wait_any(std::span<ticket const> of,
                                      std::optional<std::chrono::steady_clock::time_point> until);
  [[nodiscard]] bool has_ended_now(task_id id) {
    check_process();
    return has_ended(id);
  }
  /// Runs continuations that are due, a bounded number. With no lease held. @return whether any ran.
  bool run_continuations();
  /// Whether `run_continuations` would find any.
  [[nodiscard]] bool continuations_due() const noexcept;
  /// Whether any waits for its task or is due. Two loads.
  [[nodiscard]] bool has_continuations() const noexcept;
  /// Ends tasks that are done and that nobody has collected, where the lease is free. @return whether anything moved.
  bool collect_watched();
  /// What a worker does between two such looks: as the devices are set to wait.
  void idle_polling(unsigned round);

  // ---- control.cpp ----
  /// Runs `operation` with the context of `device` current, as soon as this thread gets the lease.
  void control(unsigned device, std::function<void(device_queue&)> const& operation);
  void flush_printf();
  [[nodiscard]] std::uintptr_t allocate(unsigned device, std::size_t bytes);
  [[nodiscard]] std::uintptr_t allocate_host(std::size_t bytes);
  void release(limbo::kinds kind, unsigned device, std::uintptr_t address, std::size_t bytes) noexcept;

  // ---- load.cpp ----
  /// Loads `code`, or where that is null the file.
  [[nodiscard]] std::uint32_t load(std::string name, void const* code, std::string const& file);
  [[nodiscard]] std::uint32_t find_kernel(std::uint32_t program, std::string_view name,
                                          std::span<detail::parameter_layout const> layout) const;
  void copy_global(std::uint32_t program, unsigned device, std::string_view name, std::span<std::byte> bytes,
                   bool write);

  // ---- tasks.cpp: what the holder of a lease does to tasks ----
  [[nodiscard]] slot& at(slot_address address) noexcept { return slots_[address >> 16][address & 0xffff]; }
  /// Fetches a slot that another core has written, to be read soon.
  void prefetch(slot_address address) noexcept {
    auto const* const bytes = reinterpret_cast<std::byte const*>(&at(address));
    __builtin_prefetch(bytes, 1);
    __builtin_prefetch(bytes + base::cache_line);
    __builtin_prefetch(bytes + 2 * base::cache_line);
  }
  [[nodiscard]] slot_side& side(slot_address address) noexcept { return pool(address).side(address & 0xffff); }
  [[nodiscard]] task_state look(task_key key);
  /// Parks `task` until `on` moves on. @return false when it already has: look again.
  bool park(slot_address task, task_key on);
  /// The task is staged on `on`, whose lease is held: what is parked on it there can follow it in its batch.
  /// @param resumed  Where those are put.
  void resume_successors(slot_address task, device_queue const& on, std::vector<slot_address>& resumed);
  /// The tasks are on a stream: `end` says where. Those parked on them go on.
  void launched(std::span<slot_address const> tasks, end_mark end);
  /// They have ended as they should; their slots are added to `back`.
  void end_well(std::span<slot_address const> tasks, slot_returns& back);
  /// The task has ended, badly where there is a failure.
  void end(slot_address task, std::shared_ptr<failure const> why);
  /// Whether no device's context can be made current any more.
  [[nodiscard]] bool all_retired() const noexcept;
  [[nodiscard]] bool is_any(slot_address task) const noexcept { return (task >> 16) == devices_.size(); }
  /// The epoch of the oldest open task; the current one where there is none.
  [[nodiscard]] std::uint64_t oldest_epoch() noexcept;
  /// Whether the slot holds an open task of that epoch or an earlier one; and one such slot.
  [[nodiscard]] bool is_open_since(slot_address address, std::uint64_t epoch) noexcept;
  [[nodiscard]] std::optional<slot_address> find_open_since(std::uint64_t epoch) noexcept;
  /// `use(address)` of every slot with an open task, until it answers false.
  template <class Use>
  void for_each_open(Use&& use) noexcept;

  // ---- poison.cpp ----
  /// Takes note of a driver's answer: a sticky one poisons the runtime.
  void note(CUresult answer, device_queue const& seen_on) noexcept;
  /// Asks all streams whether they are well, unless somebody else is at it.
  void ask_all() noexcept;
  [[nodiscard]] bool is_poisoned() const noexcept { return poisoned_.load(std::memory_order_acquire); }
  [[nodiscard]] std::shared_ptr<failure const> poison_failure() const { return poison_; }

  // ---- what others look at ----
  void check_process() const;              // throws used_after_fork
  void check_usable() const {              // and runtime_closed, poisoned
    bool const forked = fork_generation_ != base::fork_generation();
    if (forked || is_poisoned() || closed_.load(std::memory_order_acquire)) { refuse_use(); }
  }
  [[nodiscard]] unsigned checked(device_ordinal device) const {  // throws unknown_device
    if (device.value >= devices_.size()) { refuse(device); }
    return device.value;
  }
  [[nodiscard]] std::span<device const> devices() const noexcept { return chosen_.devices; }
  [[nodiscard]] device_queue& queue(unsigned device) noexcept { return *devices_[device]; }
  [[nodiscard]] device_queue const& queue(unsigned device) const noexcept { return *devices_[device]; }
  [[nodiscard]] device_settings const& requested_settings(unsigned device) const { return requests_[device].settings; }
  [[nodiscard]] device_settings effective_settings(unsigned device) const;
  [[nodiscard]] settings_report report_settings(unsigned device) const;
  [[nodiscard]] bool has_open_tasks() const noexcept;
  [[nodiscard]] std::string const& driver_text() const noexcept { return chosen_.text; }
  [[nodiscard]] driver::table const& api() const noexcept { return *chosen_.api; }
  [[nodiscard]] bool single_threaded() const noexcept { return workers_.most() == 0; }
  [[nodiscard]] device_counters counters(unsigned device);
  [[nodiscard]] std::vector<worker_counters> worker_counts() const { return workers_.counters(); }
  void close() noexcept { closed_.store(true, std::memory_order_release); }
  /// What it comes to just now: see schedule.hpp.
  [[nodiscard]] schedule resolved(schedule how) const noexcept;
  /// Of all devices together, as a worker has it that looks out for work.
  [[nodiscard]] schedule schedule_of_workers() const noexcept {
    return of_worker(schedules_.together(resolved(schedule::automatic)), api().kind);
  }
  /// Of the devices that have work, together; of all where none has. `automatic`: what that comes to.
  [[nodiscard]] schedule schedule_of_busy(schedule automatic) const noexcept;
  /// Spins, yields or sleeps once. @param round  How often since something moved. @param until  Sleeps no longer.
  void idle(schedule how, unsigned round,
            std::optional<std::chrono::steady_clock::time_point> until = std::nullopt) const;
  void wake(device_queue const& because) noexcept;
  /// Drains `queue` as a worker does, if its lease is free. @return whether anything moved.
  bool drain_if_free(device_queue& queue, drainer who, std::function<bool()> const& stop = {});
  /// Ends tasks of `queue` that are done and that nobody has collected, if its lease is free. Starts nothing.
  bool collect_if_free(device_queue& queue);
  /// Gives a lease back at its end, and then looks once more: who announced something meanwhile saw the lease held
  /// and woke nobody. Every lease of a runtime ends with one.
  struct second_look {
    core& self;
    device_queue& queue;
    std::optional<context::lease>& held;
    ~second_look();
  };
  /// Whether there is more to do for who drains `queue`: another device has work that nobody is at, or continuations are due.
  [[nodiscard]] bool something_else(device_queue const& queue) const noexcept;
  /// Whether a pass could move anything on.
  [[nodiscard]] bool something_left() const noexcept;
  /// Whether a device has something in flight, as far as was noticed.
  [[nodiscard]] bool any_batches() const noexcept;
  [[nodiscard]] bool any_waits() const noexcept { return any_pending_.load(std::memory_order_seq_cst); }

  kernel_table table;
  limbo unused;
  recorded_parts parts;
  inbox_registry any_inboxes;

 private:
  friend class device_queue;
  ~core();
  slot_pool& pool(slot_address address) noexcept {
    std::uint32_t const number = address >> 16;
    return number == devices_.size() ? any_pool_ : devices_[number]->pool;
  }
  /// Where tasks go, looked up once: a device, or all of them, of which any may take one.
  struct destination {
    unsigned place;       // the device; one past the last: any
    device_queue* queue;  // null: any
    slot_pool& slots;
    inbox_registry& boxes;
    [[nodiscard]] std::uint32_t device() const noexcept { return queue == nullptr ? 0 : place + 1; }  // as a slot has it
    [[nodiscard]] slot& at(slot_address address) const noexcept { return slots[address & 0xffff]; }
    [[nodiscard]] slot_side& side(slot_address address) const noexcept { return slots.side(address & 0xffff); }
  };
  [[nodiscard]] inline destination destination_of(unsigned place) noexcept;
  /// @param required  What the task itself says. @return a device, or one past the last: any.
  [[nodiscard]] inline unsigned place(task_options const& options, std::optional<device_ordinal> required) const;
  // What a submit that goes well does not come to lies apart: it needs registers and stack that the rest does not.
  [[noreturn]] void refuse_use() const;
  [[noreturn]] void refuse(device_ordinal device) const;
  /// @return no_slot only where `may_wait` is false.
  [[nodiscard]] inline slot_address take_slot(destination const& from, inbox& mine, bool may_wait);
  [[nodiscard]] slot_address find_slot(unsigned place, slot_pool& slots, inbox& mine, bool may_wait);
  void drop_counted(slot_address slot, std::uint64_t generation) noexcept;
  /// The calling thread's.
  [[nodiscard]] inline inbox& inbox_to(destination const& to, urgency level) const;
  /// @param device  1 + the device; 0: any.
  inline void open(slot& made, slot_address address, std::uint32_t device, ticket& handed) noexcept;
  inline void publish(slot_address address, destination const& to, inbox& into);
  [[nodiscard]] bool has_ended(task_id id) noexcept;
  void watch(task_id id, std::shared_ptr<completion_state> const& of);
  void end_watched(slot_address task, std::uint64_t generation, std::exception_ptr const& why);
  [[nodiscard]] std::exception_ptr error_of(task_id id);
  void end_continuations() noexcept;
  [[nodiscard]] std::shared_ptr<failure const> result(task_id id);
  [[nodiscard]] slot_address mark_wanted(slot_address task) noexcept;
  [[nodiscard]] bool help(drainer who, std::optional<unsigned> first, std::function<bool()> const& stop);
  void poison(CUresult answer, device_queue const& seen_on) noexcept;
  void check_deadlock(task_id id);
  void say_waiting_for(std::uint64_t what) noexcept;
  void check_deadlock_on_lease(unsigned device);
  [[nodiscard]] bool is_over(std::uint64_t what);
  void refuse_deadlock(std::uint64_t mine);
  /// Of the device whose ordinal is one less; 0: not known yet.
  [[nodiscard]] schedule schedule_of(std::uint32_t device) const noexcept;
  /// Sleeps on the driver, where the task is one that can be slept on. @return whether it has ended.
  [[nodiscard]] bool sleep_until_ended(task_id id);
  /// A parked task takes none of its device's room for tasks for any: what it waits for may still have to be pulled.
  void leave_room(slot_address task) noexcept;
  void take_room(slot_address task) noexcept;
  void release_successors(slot_address task, std::uint64_t generation) noexcept;
  /// Takes what is parked on the task and leaves its list as `leave`: empty or closed. `use(queue, address)` of each.
  template <class Use>
  void take_successors(slot_address task, std::uint64_t generation, std::uint32_t leave, Use&& use) noexcept;
  bool wait_until_idle(std::uint64_t epoch);
  void shut_down() noexcept;
  /// Tasks have ended and left so many tickets. The holder of a lease.
  void count_tickets(std::int64_t left) noexcept;
  /// On a poisoned driver tasks never end: their tickets count as if they had. Those of a device, whose lease is held;
  /// at last, with none, those that no device has.
  void count_tickets_of_open(std::optional<unsigned> device) noexcept;

  std::uint64_t const id_;              // of this process's cores
  std::uint32_t const fork_generation_;
  runtime_options options_;
  context::choice chosen_;
  std::vector<context::request> requests_;
  std::vector<std::unique_ptr<device_queue>> devices_;
  schedules schedules_;                 // of all devices, as granted: they never change
  slot_pool any_pool_;
  std::vector<slot*> slots_;            // of the pools, by number: `at` is asked several times a task
  failure_table failures_;
  std::shared_ptr<continuations> const continuations_;  // completions may outlive this
  base::sharded_count tickets_;         // those that outlived their tasks: an open task stands for its own
  std::atomic<bool> any_pending_{false};
  std::atomic<bool> closed_{false};
  std::atomic<bool> poisoned_{false};
  std::atomic<bool> poisoning_{false};
  std::shared_ptr<failure const> poison_;  // written once, before poisoned_
  std::atomic<bool> asking_{false};        // one waiter at a time asks the streams
  worker_pool workers_;                    // last: its threads use all of the above
};

}  // namespace flotilla::dispatch

#pragma once
// One device: its floating context, who may drive it, and everything that waits to run there.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <flotilla/counters.hpp>
#include <flotilla/device.hpp>
#include <flotilla/settings.hpp>
#include <flotilla/transfer.hpp>

#include "context/floating_context.hpp"
#include "context/lease.hpp"
#include "dispatch/batch_shape.hpp"
#include "dispatch/drainer.hpp"
#include "dispatch/driving_state.hpp"
#include "dispatch/event_pool.hpp"
#include "dispatch/failure.hpp"
#include "dispatch/graph_template.hpp"
#include "dispatch/inbox.hpp"
#include "dispatch/lane.hpp"
#include "dispatch/lane_plan.hpp"
#include "dispatch/launch_stage.hpp"
#include "dispatch/leveled_tasks.hpp"
#include "dispatch/limbo.hpp"
#include "dispatch/own_kernels.hpp"
#include "dispatch/pace_probe.hpp"
#include "dispatch/recorded_part.hpp"
#include "dispatch/slot_pool.hpp"
#include "dispatch/staging.hpp"
#include "dispatch/updated_templates.hpp"

namespace flotilla::dispatch {

class core;

class device_queue {
 public:
  // Batches that a stage may become: up to six templates, with up to sixteen marks together.
  static constexpr std::size_t most_of_a_stage = 22;
  static constexpr unsigned no_lane = lane_plan::no_lane;
  // Slots from one inbox in a pass: no thread starves another.
  static constexpr std::size_t quantum = 64;
  // Multiprocessors for one awaiter at a time, see awaiting.cpp. The CPU devices of tests have few.
  static inline unsigned multiprocessors_an_awaiter = 16;
  // Awaiters of which none was seen to end for longer wait for something that takes long. Tests are slower than GPUs.
  static inline std::chrono::microseconds awaiters_turn_over{100};
  // Launches in flight that are not urgent; of those there are as many as their few lanes take.
  static constexpr std::size_t most_in_flight = 4096;

  device_queue(core& owner, unsigned index, std::shared_ptr<driver::table const> api, device const& where,
               context::request const& asked, std::size_t window);
  ~device_queue();
  device_queue(device_queue const&) = delete;
  device_queue& operator=(device_queue const&) = delete;

  // ---- any thread ----

  /// Says that there is something to drain. Pairs with the start of `pass`: see docs/dispatch.md.
  /// @return whether nobody had said so yet.
  bool announce() noexcept {
    // The submitter's side of the handshake: the slot's index was pushed before. The fence and the one in
    // `pass` see to it that either this thread finds pending_ cleared, or the pass finds the slot.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return !pending_.load(std::memory_order_relaxed) && !pending_.exchange(true, std::memory_order_seq_cst);
  }
  /// Whether batches are in flight, which somebody will have to collect.
  [[nodiscard]] bool has_batches() const noexcept { return has_batches_.load(std::memory_order_acquire); }
  /// Whether somebody should drain: something was announced, or the last pass left something that only
  /// another pass can move on.
  [[nodiscard]] bool needs_drain() const noexcept {
    return pending_.load(std::memory_order_seq_cst) || backlog_.load(std::memory_order_acquire);
  }
  /// Whether who holds the lease should look again what there is to do, or let go of it. A hint.
  [[nodiscard]] bool is_wanted() const noexcept { return pending_.load(std::memory_order_relaxed) || gate.wanted(); }
  /// The thread that submits a task is about to wait for it, and to launch it: see lone_habit. Before `announce`. Until
  /// somebody passes. A hint: who waits for that does so for a moment only.
  void expect_waiter() noexcept { waiter_expected_.store(true, std::memory_order_relaxed); }
  void expect_no_waiter() noexcept { waiter_expected_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool expects_waiter() const noexcept { return waiter_expected_.load(std::memory_order_relaxed); }
  /// Takes back a parked task whose predecessor has moved on.
  void requeue(slot_address address);
  /// Makes `stream` wait for `ahead`, which is of this device.
  CUresult order_behind(end_mark ahead, CUstream stream);
  /// Waits, sleeping, until what lane `lane` has been given so far is done. Not for lanes of callables.
  CUresult sleep_until_done(unsigned lane);
  /// Asks the streams whether they are well: a faulted kernel never writes its number. Says whether the answer
  /// is to be taken as final: it is sticky, or has been the same trouble for several questions.
  struct verdict { CUresult answer; bool final; };
  verdict ask_streams() noexcept;
  [[nodiscard]] device_counters counters() const noexcept;
  /// How many launch lanes it uses, by its settings.
  [[nodiscard]] unsigned lanes() const noexcept { return lanes_; }

  // ---- the holder of the lease ----

  /// Makes the context current and passes, a few times while there is progress, until `stop` or somebody
  /// else wants the lease. @return whether anything moved.
  bool drain(context::lease& held, drainer who, std::function<bool()> const& stop = {});
  /// Ends the tasks of batches that are done. Needs no context. @return whether there were any.
  bool retire();
  /// Makes recorded tasks a graph. With the context current. @throws driver_error
  [[nodiscard]] std::shared_ptr<recorded_part> build(planned_part const& plan,
                                                     std::span<recorded_action const> actions);
  /// Frees all that needs the context, as the runtime ends.
  void destroy_resources() noexcept;
  /// After destroy_resources, the lease back.
  void end_context() noexcept { context.destroy(); }

  core& owner;
  unsigned const index;
  device const info;
  context::floating_context context;
  context::lease_gate gate;
  slot_pool pool;
  inbox_registry inboxes;
  std::unique_ptr<completion_page> page;
  /// What the holder of this device's lease waits for inside a callable: see core::check_deadlock.
  std::atomic<std::uint64_t> holder_waits_for{0};

 private:
  bool pass(drainer who, std::function<bool()> const& stop);
  /// Where a batch waits for another device the next link of its chain is likely to come from there in a moment, or is kept here
  /// until one that waits has ended: waits for that, rather than have another thread take the device over.
  /// @return whether another pass has something to do.
  [[nodiscard]] bool comes_back(context::lease const& held, std::function<bool()> const& stop) const;
  [[nodiscard]] bool some_batch_is_done() const;
  void look_at_pace();
  bool run_works(drainer who);
  /// Frees what nothing can use any more.
  enum class waiting { avoided, allowed };
  void free_unused(waiting how = waiting::avoided);
  /// Whether the driver would wait for what is running.
  [[nodiscard]] bool would_wait(limbo::item const& to_free) const noexcept;
  /// Whether more of that level may come in: launches where they could be given to lanes.
  [[nodiscard]] bool room(urgency level) const noexcept;
  [[nodiscard]] bool may_launch(urgency level) const noexcept {
    return level != 0 || driving_.in_flight - driving_.urgent_in_flight < most_in_flight;
  }
  [[nodiscard]] bool left_over() const;
  bool fail_all(std::shared_ptr<failure const> const& why);

  // intake.cpp
  bool take_requeued();
  /// What is urgent is launched at once; the rest is left staged.
  bool take_inboxes();
  bool take_inboxes(urgency level);
  /// Those that found no room, or are kept.
  bool take_ready(urgency level);
  bool pull_any();
  /// How many more tasks for any device of that level could begin here now.
  [[nodiscard]] std::size_t any_room(urgency level) const noexcept;
  /// Whether something that is more urgent lies in an inbox.
  [[nodiscard]] bool waits_above(urgency level) const noexcept;
  /// The same, of what has been requeued as well, and of inboxes that are new.
  [[nodiscard]] bool has_come_above(urgency level);

  // start.cpp: from "has the lease" to "is on a stream"
  /// Starts the task, and those that can go on as it is staged.
  void start(slot_address address);
  void start_one(slot_address address);
  void start_resumed();
  void start_all(std::span<slot_address const> tasks);
  /// Fails the task or parks it where a predecessor says so; else fills `waits`. @return whether it may go on.
  /// @param follows  Where a predecessor that is staged is to be followed rather than launched: its lane.
  bool resolve(slot_address address, std::vector<end_mark>& waits, unsigned* follows);
  void start_transfer(slot_address address, std::vector<end_mark> const& waits);
  /// @return whether there was room for it; else it is still the next.
  bool run_work(slot_address address, std::vector<end_mark> const& waits);
  /// Has the lane wait for them, all but `awaited`, and opens it before where it is the first time that it is used. Else the task
  /// has failed. @return whether it may go on.
  [[nodiscard]] bool put_behind(std::vector<end_mark> const& waits, lane& on, slot_address task, end_mark awaited = {});
  [[nodiscard]] CUresult issue(transfer const& what, CUstream stream);
  void finish(lane& of);
  /// The same of a batch whose task is on the stream.
  void launched(slot_address address, lane& on, lane::batch& in);

  // launching.cpp
  /// Whether the task is one more of what is being gathered: most are, in a flood.
  [[nodiscard]] bool joins_filling(slot const& of) const noexcept;
  void start_launch(slot_address address, std::vector<end_mark> const& waits, unsigned follows);
  void stage(slot_address address, unsigned lane_number);
  void launch_staged(unsigned lane_number);
  /// The most urgent first.
  void launch_all_staged();
  void launch_urgent_staged();
  [[nodiscard]] kernel_pace& pace_of(std::uint32_t kernel);
  /// How many tasks of that shape go out together just now: where more are at hand than could run side by side, some
  /// have to run behind others.
  [[nodiscard]] std::uint32_t most_of(batch_shape const& shape) const noexcept {
    std::size_t const at_hand = driving_.in_flight + driving_.waiting;
    return at_hand < std::size_t{shape.lanes} * shape.width ? shape.most : shape.most_when_full;
  }
  /// The same of tasks that run behind one another: where the device has room, what is behind a long one goes by itself, or
  /// the end of the long one would be seen with its own.
  [[nodiscard]] std::uint32_t chain_of(batch_shape const& shape) const noexcept {
    return most_of(shape) > shape.width ? shape.most_in_chain : 1;
  }
  /// Of the lanes for that shape the one with the least in flight; no_lane: none has room.
  [[nodiscard]] unsigned emptiest_lane(batch_shape const& shape, urgency level) const noexcept;

  // awaiting.cpp
  /// Which of them, if any, a batch of launches had better wait for itself, on the device.
  [[nodiscard]] end_mark to_await(std::vector<end_mark> const& waits, kernel_pace const& pace);
  [[nodiscard]] bool may_await();
  [[nodiscard]] std::uint32_t most_awaiters() const noexcept;
  /// The first of those that are of another device, not reached, and not far ahead; else not launched.
  [[nodiscard]] end_mark near_by(std::vector<end_mark> const& waits) const noexcept;
  /// At the start of a pass: how long ago the last was.
  void note_how_often() noexcept;
  /// Whether a task is to be kept until one of the batches that await has ended, as they do one after another just now, rather
  /// than have its stream wait: a chain that is ahead of its devices stays so, and would be at the streams' pace from then on.
  [[nodiscard]] bool worth_awaiting_later(slot const& of, std::vector<end_mark> const& waits);
  /// What no kernel of the device may wait beside: for ever.
  [[nodiscard]] bool may_ever_await() const;
  /// Before a callable runs: nothing awaits from now on, and batches that do are let go by. @return whether they have.
  [[nodiscard]] bool awaiters_have_left();

  // issuing.cpp
  /// Launches the first of `tasks`, in one template. @return how many; `refused`: one of them got an error.
  std::size_t launch_piece(lane& on, std::span<slot_address const> tasks, launch_stage const& of, bool& refused);
  /// The lane waits for what it has to wait for.
  void launch_plain(slot_address address, lane& on);
  /// The same for one of those that were to go together: what it runs behind may have been refused since.
  void launch_anew(slot_address address, lane& on);
  void launched_batch(lane& on, lane::batch const& batch);
  /// Has the template hold what is awaited, if anything is.
  [[nodiscard]] CUresult await(graph_template& by, end_mark what);
  /// What is to write the number of such a batch: see end_node.
  [[nodiscard]] CUfunction marker_for(launch_stage const& of, std::uint32_t size) const noexcept;
  /// A template that the device updates, for the first of `tasks`; null where there is none, or it would not do.
  [[nodiscard]] graph_template* updated_for(lane const& on, std::span<slot_address const> tasks, launch_stage const& of,
                                            std::uint32_t size);
  /// Of launches of one kernel: whether they differ only in what a device can change.
  [[nodiscard]] bool same_form(std::span<slot_address const> tasks) const noexcept;
  [[nodiscard]] CUresult fill(graph_template& by, std::uint32_t node, slot_address address);
  void give_back(graph_template& done) noexcept;
  /// The launch as a node; valid until the next call.
  [[nodiscard]] CUDA_KERNEL_NODE_PARAMS const& parameters_of(slot_address address);

  // replaying.cpp
  void start_recorded(slot_address address, std::vector<end_mark> const& waits);

  void fail(slot_address address, CUresult status, char const* call);
  [[nodiscard]] std::string describe(slot_address address) const;
  /// @param level  Of those for any device.
  void count_ended(std::uint32_t tasks, std::uint32_t for_any, urgency level, bool failed) noexcept;
  /// Ends a task that was never started; a callable is destroyed first.
  void drop_task(slot_address address, std::shared_ptr<failure const> why);
  friend class staging;
  friend class core;

  unsigned const lanes_;
  std::atomic<bool> pending_{false};
  std::atomic<bool> waiter_expected_{false};
  std::atomic<bool> backlog_{false};
  std::atomic<bool> has_batches_{false};
  std::atomic<int> troubled_{0};              // questions in a row that ask_streams got no good answer to
  std::array<std::atomic<std::uint32_t>, urgencies> any_open_{};  // pulled, and neither parked nor ended; of each level
  std::atomic<std::uint32_t> any_target_{4};  // how many of each may be
  std::mutex requeued_mutex_;
  std::vector<slot_address> requeued_;
  std::atomic<int> most_requeued_{-1};  // the highest level of those, -1: none. Written with the mutex; a pass asks first
  CUstream memory_stream_ = nullptr;  // allocations and frees, and nothing else
  event_pool blocking_events_;

  struct refusal { slot_address task; CUresult status; };

  driving_state driving_;
  staging staging_;
  template_pool templates_;
  mapped_slabs records_;
  updated_templates updated_;
  own_kernels own_kernels_;
  pace_probe probe_;

  // Written by the holder, read by anybody.
  std::atomic<std::uint64_t> tasks_{0}, failed_{0}, batches_{0}, callables_{0}, pulled_{0};
};

/// Adds to a counter that only one thread at a time writes: no read-modify-write needed.
inline void bump(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace flotilla::dispatch

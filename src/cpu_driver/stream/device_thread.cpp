#include "cpu_driver/executor.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cpu_driver/context.hpp"
#include "cpu_driver/device.hpp"
#include "cpu_driver/driver_state.hpp"
#include "cpu_driver/fault.hpp"
#include "cpu_driver/graph_run.hpp"
#include "cpu_driver/order_group.hpp"
#include "cpu_driver/pause.hpp"
#include "cpu_driver/perform.hpp"
#include "cpu_driver/stream.hpp"
#include "cpu_driver/stream_group.hpp"

namespace flotilla::cpu_driver {
namespace {

using namespace std::chrono_literals;

constexpr int poll_interval = 64;    // operations between two looks at waited-for values
constexpr int recycle_chain = 32;    // operations given back at once
constexpr auto spin_time = 20us;     // waking a sleeper costs a producer 1 to 2 us: spin a little
constexpr auto shortest_nap = 20us;  // while a value has to be polled
constexpr auto longest_nap = 500us;

/// Whether nobody will announce what the operation waits for.
bool polls(operation const& head) noexcept {
  auto const* const run = std::get_if<run_graph>(&head.what);
  return std::holds_alternative<wait_value>(head.what) || (run != nullptr && run->what->polls());
}

}  // namespace

void executor::stream_list::append(stream& added) noexcept {
  added.next_ready_ = nullptr;
  if (first == nullptr) {
    first = &added;
  } else {
    last->next_ready_ = &added;
  }
  last = &added;
}

stream* executor::stream_list::take_first() noexcept {
  stream* const taken = first;
  if (taken != nullptr) { first = std::exchange(taken->next_ready_, nullptr); }
  return taken;
}

void executor::start() {
  std::call_once(started_, [this] { thread_ = std::thread([this] { run(); }); });
}

void executor::stop() noexcept {
  if (!thread_.joinable() || thread_.get_id() == std::this_thread::get_id()) { return; }
  stopping_.store(true, std::memory_order_release);  // pairs with the acquire in run()
  nudge();
  thread_.join();
}

void executor::push(operation* made) noexcept {
  operation* head = inbox_.load(std::memory_order_relaxed);
  do {
    made->next = head == asleep() ? nullptr : head;
    // release: pairs with the acquire in take_arrivals()
  } while (!inbox_.compare_exchange_weak(head, made, std::memory_order_release,
                                         std::memory_order_relaxed));
  if (head == asleep()) {
    // The lock waits until the thread really sleeps, or has seen this operation.
    { std::lock_guard const lock(mutex_); }
    wake_.notify_one();
  }
}

void executor::nudge() noexcept {
  nudged_.store(true, std::memory_order_release);  // pairs with the acquire in run()
  { std::lock_guard const lock(mutex_); }
  wake_.notify_one();
}

void executor::bury(std::shared_ptr<void const> dead) {
  {
    std::lock_guard const lock(mutex_);
    buried_.push_back(std::move(dead));
    any_buried_.store(true, std::memory_order_release);  // pairs with the acquire in free_buried()
  }
  nudge();
}

void executor::run() noexcept {
  while (!stopping_.load(std::memory_order_acquire)) {
    bool const nudged = nudged_.load(std::memory_order_relaxed) &&
                        nudged_.exchange(false, std::memory_order_acquire);
    recheck_ |= nudged;
    take_arrivals();
    if (fault::status() != CUDA_SUCCESS) { drop_all(); }
    if ((recheck_ || since_poll_ >= poll_interval) && waiting_.first != nullptr) {
      recheck_waiting();
    }
    recheck_ = false;
    if (!run_one()) { idle(); }
  }
  take_arrivals();
  drop_all();
  publish_recycled();
}

bool executor::take_arrivals() noexcept {
  if (inbox_.load(std::memory_order_relaxed) == nullptr) { return false; }
  // acquire: pairs with the release in push()
  operation* newest = inbox_.exchange(nullptr, std::memory_order_acquire);
  operation* oldest = nullptr;
  while (newest != nullptr) {
    operation* const next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest != nullptr) {
    operation& made = *oldest;
    oldest = made.next;
    arrive(made);
  }
  return true;
}

void executor::arrive(operation& made) noexcept {
  stream& where = *made.where;
  made.next = nullptr;
  where.group_.order().arrive(where, made);
  if (where.head_ != nullptr) {
    where.tail_->next = &made;
    where.tail_ = &made;
    return;
  }
  where.head_ = where.tail_ = &made;
  level_of(where).append(where);
}

executor::stream_list& executor::level_of(stream const& of) noexcept {
  return ready_[static_cast<std::size_t>(of.priority_ - stream::greatest_priority)];
}

bool executor::run_one() noexcept {
  for (stream_list& level : ready_) {
    while (stream* const chosen = level.take_first()) {
      if (may_start(*chosen, *chosen->head_)) {
        run_head(*chosen);
        return true;
      }
      if (polls(*chosen->head_)) { ++waiting_for_values_; }
      waiting_.append(*chosen);
    }
  }
  return false;
}

void executor::run_head(stream& chosen) noexcept {
  operation& head = *chosen.head_;
  nap_ = shortest_nap;
  ++since_poll_;
  if (std::holds_alternative<close_stream>(head.what)) {
    close(chosen);
    return;
  }
  home_.placement().allowed = &chosen.group_.allowed();
  CUresult const status = perform(head, chosen.owner(), home_);
  if (status != CUDA_SUCCESS) {
    // Nothing after it may run: back into the list, so that drop_all() finds the stream.
    fault::raise(status);
    level_of(chosen).append(chosen);
    return;
  }
  // What streams of this device may wait for has perhaps just been given.
  recheck_ |= std::holds_alternative<record_event>(head.what) ||
              std::holds_alternative<write_value>(head.what);
  if (auto const* const run = std::get_if<run_graph>(&head.what)) {
    recheck_ = true;
    if (!run->what->finished()) {
      level_of(chosen).append(chosen);  // which asks, when its turn comes, whether it may go on
      return;
    }
    run->what->end();
  }
  complete_head(chosen);
  if (chosen.head_ != nullptr) { level_of(chosen).append(chosen); }
}

bool executor::may_start(stream& asked, operation& head) noexcept {
  if (!asked.group_.order().may_start(asked, head)) { return false; }
  if (auto* const wanted = std::get_if<wait_event>(&head.what)) { return wanted->what->watch(); }
  if (auto* const wanted = std::get_if<wait_value>(&head.what)) { return satisfied(*wanted); }
  if (auto* const wanted = std::get_if<run_graph>(&head.what)) { return wanted->what->may_go_on(); }
  return true;
}

bool executor::recheck_waiting() noexcept {
  since_poll_ = 0;
  waiting_for_values_ = 0;
  bool any = false;
  stream_list asked = std::exchange(waiting_, {});
  while (stream* const next = asked.take_first()) {
    if (may_start(*next, *next->head_)) {
      level_of(*next).append(*next);
      any = true;
    } else {
      if (polls(*next->head_)) { ++waiting_for_values_; }
      waiting_.append(*next);
    }
  }
  return any;
}

void executor::complete_head(stream& of) noexcept {
  operation& ended = *of.head_;
  of.head_ = ended.next;
  recheck_ |= of.group_.order().complete(of);
  // After this the stream may be destroyed by whoever sees it idle - but only through an operation
  // of its own, so that it stays while this thread has it. release: pairs with the acquire in
  // stream::idle()
  of.completed_.store(of.completed_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  latch* reached = nullptr;
  if (auto* const passed = std::get_if<reach_latch>(&ended.what)) { reached = passed->where; }
  recycle(ended);
  if (reached != nullptr) {
    publish_recycled();
    reached->count_down();  // last: who waits may end the context
  }
}

void executor::close(stream& ended) noexcept {
  stream_group& group = ended.group_;
  group.order().leave(ended);
  ended.head_ = nullptr;
  recheck_ = true;  // the NULL stream may have waited for this end
  if (ended.self_ != nullptr) { driver_state::get().streams().finish(ended.self_); }
  group.closing().count_down();
}

void executor::drop_all() noexcept {
  for (stream_list& level : ready_) {
    while (stream* const next = level.take_first()) { drop_queue(*next); }
  }
  while (stream* const next = waiting_.take_first()) { drop_queue(*next); }
  waiting_for_values_ = 0;
}

void executor::drop_queue(stream& of) noexcept {
  while (operation* const head = of.head_) {
    if (std::holds_alternative<close_stream>(head->what)) {
      close(of);
      return;
    }
    drop(*head);
    complete_head(of);
  }
}

void executor::recycle(operation& ended) noexcept {
  ended.what.emplace<std::monostate>();
  ended.next = recycled_first_;
  recycled_first_ = &ended;
  if (recycled_last_ == nullptr) { recycled_last_ = &ended; }
  if (++recycled_count_ >= recycle_chain) { publish_recycled(); }
}

void executor::publish_recycled() noexcept {
  if (recycled_first_ == nullptr) { return; }
  give_operations(recycled_first_, recycled_last_);
  recycled_first_ = recycled_last_ = nullptr;
  recycled_count_ = 0;
}

void executor::free_buried() noexcept {
  if (any_buried_.load(std::memory_order_acquire)) {
    std::lock_guard const lock(mutex_);
    any_buried_.store(false, std::memory_order_relaxed);
    std::move(buried_.begin(), buried_.end(), std::back_inserter(dying_));
    buried_.clear();
  }
  // Taken first, then looked: what was pushed before the burial is in the inbox or in a stream by
  // now.
  if (waiting_.first == nullptr && inbox_.load(std::memory_order_acquire) == nullptr) {
    dying_.clear();
  }
}

bool executor::called() const noexcept {
  return inbox_.load(std::memory_order_relaxed) != nullptr ||
         nudged_.load(std::memory_order_relaxed);
}

void executor::idle() noexcept {
  publish_recycled();
  free_buried();
  if (!spin()) { sleep(); }
}

bool executor::spin() noexcept {
  auto const end = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 32; ++i) {
      if (called()) { return true; }
      pause();
    }
    if (waiting_for_values_ > 0 && recheck_waiting()) { return true; }
    std::this_thread::
        yield();  // where threads outnumber cores, who would call us may need this one
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

void executor::sleep() noexcept {
  operation* empty = nullptr;
  // acq_rel: who pushes onto the mark has seen that we are about to sleep
  if (!inbox_.compare_exchange_strong(empty, asleep(), std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
    return;
  }
  {
    std::unique_lock lock(mutex_);
    auto const woken = [this] {
      return inbox_.load(std::memory_order_relaxed) != asleep() ||
             nudged_.load(std::memory_order_relaxed);
    };
    if (waiting_for_values_ > 0) {
      wake_.wait_for(lock, nap_, woken);
      nap_ = std::min<std::chrono::microseconds>(nap_ * 2, longest_nap);
      recheck_ = true;
    } else {
      wake_.wait(lock, woken);
    }
  }
  operation* mark = asleep();
  inbox_.compare_exchange_strong(mark, nullptr, std::memory_order_relaxed,
                                 std::memory_order_relaxed);
}

}  // namespace flotilla::cpu_driver

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tasks go from submitting threads to the thread that drives a device: inbox, inbox_registry,
// device_inbound, shared_queue and lease_gate.

#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "context/lease.hpp"
#include "dispatch/queue/device_inbound.hpp"
#include "dispatch/queue/shared_queue.hpp"
#include "memory_order/subjects.hpp"

namespace flotilla::test::memory_order {
namespace {

using namespace dispatch;

// Each fiber is a thread, so it needs a token of its own.
bool const has_tokens = (add_thread_word(context::detail::thread_token), true);

// A push makes the task visible. The ring is reused, which must wait for the pop.
add_subject const transfer{"inbox: push and pop", [](execution& one) {
                             struct state {
                               inbox box{1};  // its ring has two words
                               std::array<int, 3> tasks{};
                             };
                             auto const all = std::make_shared<state>();
                             one.thread([all] {
                               for (slot_address i = 0; i < 3 && all->box.empty(); ++i) {
                                 all->tasks[i] = 1;
                                 all->box.push(i);
                               }
                             });
                             one.thread([all] {
                               for (int i = 0; i < 2; ++i) {
                                 slot_address const first = all->box.front();
                                 slot_address got = no_slot;
                                 if (all->box.pop(&got, 1) == 0) { continue; }
                                 check(first == no_slot || first == got,
                                       "pop has not returned the front");
                                 check(all->tasks[got] == 1, "a task without its contents");
                               }
                             });
                           }};

// Consumers of the inbox for any device take turns.
add_subject const claims{"inbox: claims", [](execution& one) {
                           struct state {
                             inbox box{2};
                             int owned = 0;
                           };
                           auto const all = std::make_shared<state>();
                           for (int i = 0; i < 2; ++i) {
                             one.thread([all] {
                               if (!all->box.try_claim()) { return; }
                               ++all->owned;  // a race if two threads have claimed it
                               all->box.unclaim();
                             });
                           }
                         }};

// A thread has ended. Its block of slots belongs to the thread that removes its inbox.
add_subject const orphans{"inbox_registry: orphaned inboxes", [](execution& one) {
                            struct state {
                              slot_pool pool{0, 2};
                              inbox_registry all;
                              std::shared_ptr<inbox> box = all.open(2);
                            };
                            auto const all = std::make_shared<state>();
                            one.thread([all] {
                              check(all->pool.take(all->box->slots()) != no_slot,
                                    "no slot in an empty pool");
                              all->box->orphan();
                            });
                            one.thread([all] {
                              inbox_registry::view view;
                              all->all.refresh(view);
                              all->all.sweep(all->pool);
                              all->all.refresh(view);
                              check(view.boxes.size() == (all->box.use_count() == 1 ? 0u : 1u),
                                    "the view is out of date");
                            });
                          }};

/// A device without a driver.
struct device {
  context::context_handle context{nullptr, {}, {}};
  context::lease_gate gate{context};
  int driven = 0;
};

// Holders of the lease take turns, and a thread that waits for it gets it.
add_subject const leases{
    "lease_gate: take and try_take", [](execution& one) {
      auto const all = std::make_shared<device>();
      one.thread([all] {
        context::lease const held = all->gate.take();
        ++all->driven;
      });
      one.thread([all] {
        if (auto const held = all->gate.try_take()) { ++all->driven; }
      });
      one.at_end([all] { check(all->driven >= 1, "a thread did not get the lease"); });
    }};
add_subject const waiting_leases{
    "lease_gate: two threads take", [](execution& one) {
      auto const all = std::make_shared<device>();
      for (int i = 0; i < 2; ++i) {
        one.thread([all] {
          context::lease const held = all->gate.take();
          ++all->driven;
        });
      }
      one.at_end([all] { check(all->driven == 2, "a thread did not get the lease"); });
    }};

/// A device with inboxes of two threads, and with at most one worker.
struct driven_device : device {
  static constexpr std::size_t window = 2;
  task_table tasks{std::span{&window, 1}, 1};
  doorbell bell;
  device_inbound inbound{tasks, gate, bell};
  shared_queue shared{1, bell};
  inbox_registry::view view, shared_view;  // used by the holder of the lease
  std::array<std::shared_ptr<inbox>, 2> boxes{};
  std::array<int, 2> contents{};
  int taken = 0;
  bool is_busy = false;  // the worker found the device busy so often that it gave up
  std::atomic<int> active{0};
  std::mutex mutex;
  std::condition_variable posted;
  int jobs = 0;

  driven_device() {
    bell.connect(
        this, [](void* self) noexcept { static_cast<driven_device*>(self)->wake(); }, nullptr,
        nullptr, nullptr);
  }
  void submit(slot_address task, bool for_any = false) {
    inbox_registry& registry = for_any ? shared.inboxes() : inbound.inboxes();
    if (boxes[task] == nullptr) { boxes[task] = registry.open(1); }
    contents[task] = 1;
    boxes[task]->push(task);
    for_any ? shared.announce() : inbound.announce();
  }
  /// Takes one task, as a pass with a full batch does. @return whether tasks are left.
  bool take_from(inbox_registry& from, inbox_registry::view& copy) {
    from.refresh(copy);
    slot_address got = no_slot;
    for (auto const& each : copy.boxes) {
      if (got == no_slot && each->pop(&got, 1) != 0) {
        check(contents[got] == 1, "a task without its contents");
        ++taken;
      }
    }
    return std::any_of(copy.boxes.begin(), copy.boxes.end(),
                       [](auto const& each) { return !each->empty(); });
  }
  /// What device_driver::pass does.
  void pass() {
    inbound.begin_pass();
    for (slot_address next = inbound.take_requeued(); next != no_slot;
         next = tasks.at(next).next_parked.load(std::memory_order_relaxed)) {
      ++taken;
    }
    inbound.set_backlog(take_from(inbound.inboxes(), view));
    if (shared.is_pending()) {
      shared.begin_pull();
      if (take_from(shared.inboxes(), shared_view)) { shared.set_pending(); }
    }
  }
  [[nodiscard]] bool has_work() const { return inbound.needs_drain() || shared.is_pending(); }
  /// What device_set::drain_if_free does.
  bool drain_if_free() {
    std::optional<context::lease> lease = gate.try_take();
    if (!lease) { return false; }
    if (has_work()) { pass(); }
    lease.reset();
    bool const is_work_left = inbound.needs_drain_after_release();
    bell.ring_after_lease(inbound.is_announced(), is_work_left || shared.is_pending());
    return true;
  }
  /// What worker_pool::wake does.
  void wake() {
    int none = 0;
    if (!active.compare_exchange_strong(none, 1, std::memory_order_seq_cst)) { return; }
    std::lock_guard const lock{mutex};
    ++jobs;
    posted.notify_one();
  }
  /// What worker::run and stay_after_all do.
  void work() {
    while (true) {
      {
        std::unique_lock lock{mutex};
        posted.wait(lock, [this] { return jobs != 0; });
        --jobs;
      }
      int none = 0;
      do {
        for (int failed = 0; has_work() && failed < 2;) { failed += drain_if_free() ? 0 : 1; }
        is_busy = has_work();
        if (is_busy) { return; }
        active.fetch_sub(1, std::memory_order_seq_cst);
        std::atomic_thread_fence(std::memory_order_seq_cst);
      } while (has_work() && active.compare_exchange_strong(none, 1, std::memory_order_seq_cst));
    }
  }
  void expect(int submitted) {
    check(taken == submitted || is_busy, "a task is left, and no thread will take it");
  }
};

scenario submits(std::array<bool, 2> for_any, bool helps) {
  return [for_any, helps](execution& one) {
    auto const all = std::make_shared<driven_device>();
    one.thread([all, for_any, helps] {
      all->submit(0, for_any[0]);
      if (!helps) { all->submit(1, for_any[1]); }
    });
    if (helps) {
      one.thread([all] { all->drain_if_free(); });
    }
    one.daemon([all] { all->work(); });
    one.at_end([all, helps] { all->expect(helps ? 1 : 2); });
  };
}

// No task is forgotten, whoever holds the lease.
add_subject const announced{"device_inbound: two tasks", submits({false, false}, false), 2};
add_subject const helped{"device_inbound: a thread helps", submits({false, false}, true), 1};
// A pass that takes only a part of the tasks leaves a backlog.
add_subject const backlog{"device_inbound: backlog",
                          [](execution& one) {
                            auto const all = std::make_shared<driven_device>();
                            one.thread([all] {
                              all->submit(0);
                              all->submit(1);
                              all->drain_if_free();
                            });
                            one.daemon([all] { all->work(); });
                            one.at_end([all] { all->expect(2); });
                          },
                          2};
add_subject const shared{"shared_queue: two tasks", submits({true, true}, false), 2};
add_subject const shared_helped{"shared_queue: a thread helps", submits({true, true}, true), 1};
add_subject const requeued{"device_inbound: requeue",
                           [](execution& one) {
                             auto const all = std::make_shared<driven_device>();
                             one.thread([all] { all->inbound.requeue(0); });
                             one.thread([all] { all->drain_if_free(); });
                             one.daemon([all] { all->work(); });
                             one.at_end([all] { all->expect(1); });
                           },
                           1};

}  // namespace
}  // namespace flotilla::test::memory_order

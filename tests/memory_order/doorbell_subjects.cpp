// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The listener of a doorbell hears every event until it is removed.

#include <atomic>
#include <memory>

#include "dispatch/queue/doorbell.hpp"
#include "memory_order/subjects.hpp"

namespace flotilla::test::memory_order {
namespace {

using namespace dispatch;

// An event that happens before the listener is set is found by the thread that has set it.
add_subject const listeners{
    "doorbell: set_listener", [](execution& one) {
      struct state final : doorbell::listener {
        doorbell bell;
        std::atomic<int> generation{0};
        std::atomic<bool> heard{false};
        bool seen = false;
        int descriptor = 0;
        void work_announced() noexcept override {}
        void continuation_changed() noexcept override {}
        void task_ended() noexcept override {
          heard.store(descriptor == 1, std::memory_order_relaxed);
        }
        void lease_released() noexcept override {}
      };
      auto const all = std::make_shared<state>();
      one.thread([all] {
        all->generation.exchange(1, std::memory_order_seq_cst);  // as task_end does
        all->bell.note_end();
      });
      one.thread([all] {
        all->descriptor = 1;
        all->bell.set_listener(all.get());
        all->seen = all->generation.load(std::memory_order_acquire) != 0;  // as ticket::done does
      });
      one.at_end([all] {
        check(all->seen || all->heard.load(std::memory_order_relaxed), "an event was lost");
      });
    }};

// The owner of a listener removes it, and then destroys it.
add_subject const removed{"doorbell: remove_listener", [](execution& one) {
                            struct state final : doorbell::listener {
                              doorbell bell;
                              bool exists = true;
                              void work_announced() noexcept override {}
                              void continuation_changed() noexcept override {}
                              void task_ended() noexcept override {
                                check(exists, "a listener that was destroyed");
                              }
                              void lease_released() noexcept override {}
                            };
                            auto const all = std::make_shared<state>();
                            all->bell.set_listener(all.get());
                            for (int i = 0; i < 2; ++i) {
                              one.thread([all] { all->bell.note_end(); });
                            }
                            one.thread([all] {
                              all->bell.remove_listener();
                              all->exists = false;  // a race if another thread is in `task_ended`
                            });
                          }};

}  // namespace
}  // namespace flotilla::test::memory_order

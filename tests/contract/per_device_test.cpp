// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// per_device: objects for each device and stream.

#include <atomic>
#include <memory>
#include <stdexcept>

#include <flotilla/task/per_device.hpp>

#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

/// Notes the context in which it was made, and checks that it is destroyed there.
struct handle {
  explicit handle(std::atomic<int>& alive_count) : context(current_context()), alive(alive_count) {
    ++alive;
  }
  ~handle() {
    EXPECT_EQ(current_context(), context);
    --alive;
  }
  CUcontext const context;
  std::atomic<int>& alive;
  std::atomic<bool> in_use = false;
};

class PerDevice : public contract_test {
 protected:
  std::atomic<int> alive = 0;
};
FLOTILLA_CONTRACT(PerDevice);

// requirement: a callable gets the object of its device, and nobody else uses the object meanwhile
TEST_P(PerDevice, EachStreamHasItsObject) {
  std::atomic<int> made = 0, wrong = 0;
  {
    per_device<handle> handles{rt(), [&](task_context&) {
                                 ++made;
                                 return std::make_unique<handle>(alive);
                               }};
    for (int i = 0; i < 200; ++i) {
      for (device_ordinal const on : ordinals()) {
        rt().post(
            [&](task_context& task) {
              handle& mine = handles.at(task);
              if (mine.in_use.exchange(true) || mine.context != task.context()) { ++wrong; }
              if (&handles.at(task) != &mine) { ++wrong; }
              mine.in_use = false;
            },
            {.device = on});
      }
    }
    rt().wait_idle();
    EXPECT_EQ(alive, made);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(made, static_cast<int>(ordinals().size()));
  EXPECT_LE(made, 40 * static_cast<int>(ordinals().size())) << "one for each stream";
  EXPECT_EQ(alive, 0);
}

// regression: destroyed inside a callable, it left a task that used its freed memory
TEST_P(PerDevice, MayEndInsideACallable) {
  auto handles = std::make_unique<per_device<handle>>(
      rt(), [&](task_context&) { return std::make_unique<handle>(alive); });
  rt().submit([&](task_context& task) { static_cast<void>(handles->at(task)); }, {.device = last()})
      .wait();
  rt().submit([&](task_context&) { handles.reset(); }, {.device = last()}).wait();
  rt().wait_idle();
  EXPECT_EQ(alive, 0);
}

// requirement: if an object cannot be made, the callable fails, and later ones try again
TEST_P(PerDevice, FailuresToMakeAreNotKept) {
  std::atomic<bool> fails = true;
  per_device<handle> handles{rt(), [&](task_context&) {
                               if (fails) { throw std::runtime_error{"no handle"}; }
                               return std::make_unique<handle>(alive);
                             }};
  auto const use = [&](task_context& task) { static_cast<void>(handles.at(task)); };
  EXPECT_THROW(rt().submit(use, {.device = last()}).wait(), std::runtime_error);
  fails = false;
  rt().submit(use, {.device = last()}).wait();
  EXPECT_EQ(alive, 1);
  handles.clear();
  EXPECT_EQ(alive, 0);
  rt().submit(use, {.device = last()}).wait();
  EXPECT_EQ(alive, 1);
}

}  // namespace
}  // namespace flotilla::test

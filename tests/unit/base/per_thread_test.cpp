// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// base::per_thread: one object for each thread. Destructors that run late can still use the object.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/per_thread.hpp"

namespace flotilla::base {
namespace {

std::atomic<int> alive{0};

struct counted_object {
  counted_object() { ++alive; }
  ~counted_object() { --alive; }
  counted_object(counted_object&&) = delete;
  int value = 0;
};
using mine = per_thread<counted_object>;

// requirement: each thread has its own object, which is destroyed when the thread ends
TEST(PerThread, EachThreadHasItsOwn) {
  int const before = alive;
  std::thread([&] {
    EXPECT_EQ(mine::find(), nullptr);
    mine::get().value = 1;
    EXPECT_EQ(mine::get().value, 1);
    EXPECT_EQ(mine::find(), &mine::get());
    std::thread([] { EXPECT_EQ(mine::get().value, 0); }).join();
    EXPECT_EQ(alive, before + 1);
  }).join();
  EXPECT_EQ(alive, before);
}

/// Its destructor runs after the thread's `counted_object` was destroyed, because `counted_object`
/// is constructed later.
struct late_user {
  int* seen = nullptr;
  ~late_user() {
    if (seen == nullptr) { return; }
    EXPECT_EQ(mine::find(), nullptr);
    *seen = ++mine::get().value;
  }
};

// requirement: the destructor of another thread-local object may call `get`, even if the thread's
// own object was already destroyed
TEST(PerThread, LateDestructorsGetANewObject) {
  int const before = alive;
  int seen = 0;
  std::thread([&] {
    static thread_local late_user user;
    user.seen = &seen;
    mine::get().value = 7;
  }).join();
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(alive, before);
}

}  // namespace
}  // namespace flotilla::base

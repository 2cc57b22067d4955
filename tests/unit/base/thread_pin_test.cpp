// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pin.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "support/numa_tree.hpp"

namespace flotilla::base {
namespace {

using test::mask_of;
using test::own_processors;

processor_mask mask_here() { return processor_mask::of_thread(0).value_or(processor_mask{}); }

// requirement
TEST(ThreadPin, RestrictsTheThreadAndRestoresItsMask) {
  auto const all = own_processors();
  processor_mask const before = mask_here();
  {
    thread_pin pin;
    EXPECT_EQ(mask_here(), before);
    pin.move_to(mask_of({all.front()}));
    EXPECT_EQ(mask_here(), mask_of({all.front()}));
    pin.move_to(mask_of({all.back()}));
    EXPECT_EQ(mask_here(), mask_of({all.back()}));
  }
  EXPECT_EQ(mask_here(), before);
}

// requirement
TEST(ThreadPin, RestoresTheMaskAfterAnException) {
  processor_mask const before = mask_here();
  EXPECT_THROW(
      {
        thread_pin pin;
        pin.move_to(mask_of({own_processors().front()}));
        throw std::runtime_error{"any"};
      },
      std::runtime_error);
  EXPECT_EQ(mask_here(), before);
}

// requirement: a thread never gets processors outside of its own mask
TEST(ThreadPin, StaysWithinTheMaskOfTheThread) {
  auto const all = own_processors();
  std::thread{[&] {
    mask_of({all.front()}).apply_to_this_thread();
    thread_pin pin;
    pin.move_to(mask_of({8000}));
    EXPECT_EQ(mask_here(), mask_of({all.front()})) << "no such processor";
    pin.move_to({});
    EXPECT_EQ(mask_here(), mask_of({all.front()})) << "no processor at all";
    pin.move_to(mask_of({all.front(), 8000}));
    EXPECT_EQ(mask_here(), mask_of({all.front()}));
    if (all.size() > 1) {
      pin.move_to(mask_of({all.back()}));
      EXPECT_EQ(mask_here(), mask_of({all.front()})) << "a processor of other threads";
    }
  }}.join();
}

// requirement: threads that flotilla starts are not restricted, even if a pinned thread starts them
TEST(ThreadPin, ANewThreadIsNotRestricted) {
  auto const all = own_processors();
  if (all.size() < 2) { GTEST_SKIP() << "a restriction needs at least 2 processors"; }
  processor_mask const before = mask_here();
  processor_mask seen;
  thread_pin pin;
  start_thread([&] { seen = mask_here(); }).join();
  EXPECT_EQ(seen, before);
  pin.move_to(mask_of({all.front()}));
  std::thread{[&] { seen = mask_here(); }}.join();
  EXPECT_EQ(seen, mask_of({all.front()})) << "Linux: a thread inherits the mask";
  start_thread([&] { seen = mask_here(); }).join();
  EXPECT_EQ(seen, before);
}

}  // namespace
}  // namespace flotilla::base

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The return type of coroutines that own themselves.

#include <gtest/gtest.h>

#include <coroutine>

namespace flotilla::test {

/// The return type of a coroutine that starts at once. No object owns the coroutine, and no code
/// awaits it. An exception that leaves the coroutine fails the test.
struct fire_and_forget {
  struct promise_type {
    fire_and_forget get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { ADD_FAILURE() << "the coroutine threw"; }
  };
};

}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The message of the exception that an action throws.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <typeinfo>

namespace flotilla::test {

/// Runs `action`, which must throw an `Error`. @return the message of the exception, or "" if the
/// test failed.
template <class Error, class Action>
[[nodiscard]] std::string thrown(Action&& action) {
  try {
    action();
  } catch (Error const& error) { return error.what(); } catch (std::exception const& other) {
    ADD_FAILURE() << "not the expected exception: " << typeid(other).name() << ": " << other.what();
    return {};
  } catch (...) {
    ADD_FAILURE() << "an object was thrown that is not a std::exception";
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

}  // namespace flotilla::test

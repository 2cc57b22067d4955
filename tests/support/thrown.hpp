#pragma once
// What was thrown, as a message to look into.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <typeinfo>

namespace flotilla::test {

/// Runs `action`, which must throw an `Error`. @return its message; empty after a failure.
template <class Error, class Action>
[[nodiscard]] std::string thrown(Action&& action) {
  try {
    action();
  } catch (Error const& error) { return error.what(); } catch (std::exception const& other) {
    ADD_FAILURE() << "not the expected exception: " << typeid(other).name() << ": " << other.what();
    return {};
  } catch (...) {
    ADD_FAILURE() << "something that is no std::exception was thrown";
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

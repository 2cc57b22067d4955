// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/task/failure.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace flotilla::dispatch {
namespace {

std::shared_ptr<failure const> words(char const* text) {
  return make_failure(std::make_exception_ptr(std::runtime_error{text}));
}

// requirement
TEST(Failure, HasTheTextOfItsException) {
  EXPECT_EQ(words("out of paper")->text, "out of paper");
  EXPECT_EQ(make_failure(std::make_exception_ptr(42))->text,
            "an exception that is not a std::exception");
  EXPECT_THROW(std::rethrow_exception(make_failure(std::make_exception_ptr(42))->error), int);
}

// requirement
TEST(FailureTable, KeepsFailuresByTask) {
  failure_table table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.get(1, 1), nullptr);
  table.put(1, 3, words("a"));
  table.put(1, 5, words("b"));
  table.put(2, 3, words("c"));
  EXPECT_FALSE(table.empty());
  EXPECT_EQ(table.get(1, 3)->text, "a");
  EXPECT_EQ(table.get(1, 5)->text, "b");
  EXPECT_EQ(table.get(2, 3)->text, "c");
  EXPECT_EQ(table.get(2, 5), nullptr);
  EXPECT_EQ(table.get(1, 3)->text, "a") << "a lookup must not remove the failure";
}

// requirement: dependent tasks know only the lower 32 bits of a generation, and can look up a
// failure with them
TEST(FailureTable, FindsByTheLowerHalfOfAGeneration) {
  failure_table table;
  table.put(1, (std::uint64_t{1} << 32) + 3, words("a"));
  EXPECT_EQ(table.get(1, 3)->text, "a");
}

// requirement
TEST(FailureTable, ForgetsWhatIsErased) {
  failure_table table;
  table.put(1, 3, words("a"));
  table.erase(1, 5);
  EXPECT_FALSE(table.empty());
  std::shared_ptr<failure const> const kept = table.get(1, 3);
  table.erase(1, 3);
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.get(1, 3), nullptr);
  EXPECT_EQ(kept->text, "a") << "a failure must live as long as a reference to it";
}

// error guess: the destructor of an exception is user code, and calls the table that is destroying
// the exception
TEST(FailureTable, DestroysExceptionsOutsideItsLock) {
  struct asks_again : std::exception {
    explicit asks_again(failure_table& of) : table{&of} {}
    asks_again(asks_again const&) = default;
    ~asks_again() override { EXPECT_EQ(table->get(7, 7), nullptr); }
    failure_table* table;
  };
  failure_table table;
  table.put(2, 1, words("keeps the table from being empty"));
  table.put(1, 1, make_failure(std::make_exception_ptr(asks_again{table})));
  table.erase(1, 1);
  EXPECT_FALSE(table.empty());
}

}  // namespace
}  // namespace flotilla::dispatch

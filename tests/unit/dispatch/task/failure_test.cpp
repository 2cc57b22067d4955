#include "dispatch/failure.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace flotilla::dispatch {
namespace {

std::shared_ptr<failure const> words(char const* text) {
  return failure_of(std::make_exception_ptr(std::runtime_error{text}));
}

// requirement
TEST(Failure, HasTheWordsOfItsException) {
  EXPECT_EQ(words("out of paper")->text, "out of paper");
  EXPECT_EQ(failure_of(std::make_exception_ptr(42))->text,
            "an exception that is no std::exception");
  EXPECT_THROW(std::rethrow_exception(failure_of(std::make_exception_ptr(42))->error), int);
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
  EXPECT_EQ(table.get(1, 3)->text, "a") << "asked as often as wanted";
}

// requirement: a generation is cut to 32 bits by those who depend on a task
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
  EXPECT_EQ(kept->text, "a") << "who has it keeps it";
}

// error guess: the destructor of an exception is user code, and may ask the table again
TEST(FailureTable, DestroysExceptionsOutsideItsLock) {
  struct asks_again : std::exception {
    explicit asks_again(failure_table& of) : table{&of} {}
    asks_again(asks_again const&) = default;
    ~asks_again() override { EXPECT_EQ(table->get(7, 7), nullptr); }
    failure_table* table;
  };
  failure_table table;
  table.put(2, 1, words("so that the table is not empty"));
  table.put(1, 1, failure_of(std::make_exception_ptr(asks_again{table})));
  table.erase(1, 1);
  EXPECT_FALSE(table.empty());
}

}  // namespace
}  // namespace flotilla::dispatch

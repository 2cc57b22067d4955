// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Continuations that become due, run, and are given to an executor. The tests use no runtime, and
// only one thread.

#include "dispatch/ordering/continuation_table.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/kept_log.hpp"

namespace flotilla::dispatch {
namespace {

/// Keeps all jobs instead of running them.
class keeping_executor final : public executor {
 public:
  void execute(executor_job job) override {
    kept.push_back(std::move(job));
    if (throws) { throw std::runtime_error{"too much to do"}; }
  }
  std::vector<executor_job> kept;
  bool throws = false;
};

class ContinuationTable : public ::testing::Test {
 protected:
  using table_ptr = std::shared_ptr<continuation_table>;

  ContinuationTable() {
    bell_.connect_continuations(&rings_, [](void* rings) noexcept { ++*static_cast<int*>(rings); });
  }
  [[nodiscard]] table_ptr make_table(executor* with = nullptr) const {
    return std::make_shared<continuation_table>(bell_, with);
  }
  /// Returns a state that waits for one task. Its callable counts how often it runs.
  [[nodiscard]] continuation_table::state_ptr make_state(table_ptr const& table) {
    auto made = std::make_shared<continuation_state>(table);
    made->callable = detail::make_continuation([this](std::exception_ptr const&) { ++runs_; });
    return made;
  }
  /// Makes a callable due.
  void make_due(table_ptr const& table) { table->arrived(make_state(table), nullptr); }

  doorbell bell_;
  int rings_ = 0;
  int runs_ = 0;
};

// requirement: a thread that asks for work learns whether a callable was due, even if the executor
// runs the callable later
TEST_F(ContinuationTable, TellsWhetherACallableWasDue) {
  keeping_executor with;
  for (executor* const each : {static_cast<executor*>(nullptr), static_cast<executor*>(&with)}) {
    table_ptr const table = make_table(each);
    EXPECT_FALSE(table->run_next());
    make_due(table);
    EXPECT_TRUE(table->run_next());
    EXPECT_FALSE(table->run_next());
  }
  EXPECT_EQ(runs_, 1);
  ASSERT_EQ(with.kept.size(), 1u);
  with.kept[0]();
  EXPECT_EQ(runs_, 2);
}

// requirement: if the number of uses has not changed, no continuation began meanwhile
TEST_F(ContinuationTable, CountsTheContinuationsThatBegin) {
  table_ptr const table = make_table();
  make_due(table);
  std::uint64_t const before = table->uses();
  EXPECT_TRUE(table->run_next());
  EXPECT_EQ(runs_, 1);
  EXPECT_NE(table->uses(), before);
  EXPECT_EQ(table->users(), 0u) << "the continuation has ended";
}

// requirement: a runtime does not end while a task is watched, a callable is due, or a thread uses
// the table
TEST_F(ContinuationTable, EndsOnlyIfNothingIsLeft) {
  constexpr continuation_table::key task{1, 3};
  table_ptr const table = make_table();
  table->watch(task, make_state(table));
  EXPECT_FALSE(table->end()) << "a task is watched";
  table->task_ended(task, nullptr);
  EXPECT_FALSE(table->end()) << "a callable is due";
  EXPECT_TRUE(table->run_next());
  {
    continuation_table::use const mine{*table};
    EXPECT_FALSE(mine.over());
    EXPECT_FALSE(table->end()) << "a thread uses the table";
  }
  EXPECT_TRUE(table->end());
  EXPECT_TRUE(continuation_table::use{*table}.over());
}

// requirement: a thread of the executor runs one job only, so it wakes another thread for the
// callables that are due afterwards
TEST_F(ContinuationTable, WakesAThreadForWhatIsDueAfterAJob) {
  keeping_executor with;
  table_ptr const table = make_table(&with);
  make_due(table);
  make_due(table);
  EXPECT_TRUE(table->run_next());
  ASSERT_EQ(with.kept.size(), 1u);
  rings_ = 0;
  with.kept[0]();
  EXPECT_EQ(rings_, 1) << "the second callable is still due";
  EXPECT_TRUE(table->run_next());
  with.kept[1]();
  EXPECT_EQ(runs_, 2);
}

// requirement: the message that a job was destroyed is printed even if the thread that destroys the
// job has called the executor before
TEST_F(ContinuationTable, ReportsAJobThatIsDestroyedAfterTheCall) {
  test::kept_log const log;
  keeping_executor with;
  table_ptr const table = make_table(&with);
  make_due(table);
  EXPECT_TRUE(table->run_next());
  EXPECT_EQ(log.count("destroyed a job"), 0u) << "the executor may still run it";
  with.kept.clear();
  EXPECT_EQ(log.count("destroyed a job"), 1u);
  EXPECT_TRUE(table->run_next()) << "the callable is due again";
  EXPECT_EQ(runs_, 1);
}

// requirement: the same if the last call of an executor has thrown
TEST_F(ContinuationTable, ReportsADestroyedJobAfterACallThatThrew) {
  test::kept_log const log;
  keeping_executor patient, busy;
  busy.throws = true;
  table_ptr const table = make_table(&patient);
  table_ptr const other = make_table(&busy);
  make_due(table);
  EXPECT_TRUE(table->run_next());
  make_due(other);
  EXPECT_TRUE(other->run_next());
  EXPECT_EQ(log.count("too much to do"), 1u);
  EXPECT_EQ(log.count("destroyed a job"), 0u);
  patient.kept.clear();
  EXPECT_EQ(log.count("destroyed a job"), 1u);
  busy.kept.clear();
  EXPECT_TRUE(table->run_next());
  EXPECT_TRUE(other->run_next());
  EXPECT_EQ(runs_, 2);
}

}  // namespace
}  // namespace flotilla::dispatch

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A runtime with a trace, and the reader of the trace.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/trace.hpp>

#include "support/contract_test.hpp"
#include "trace_model.hpp"
#include "trace_reader.hpp"

namespace flotilla::test {

class traced_test : public contract_test {
 protected:
  void SetUp() override {
    contract_test::SetUp();
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(name.begin(), name.end(), '/', '_');
    file_ = std::filesystem::temp_directory_path() /
            ("flotilla_" + std::to_string(::getpid()) + "_" + name + ".pftrace");
  }
  void TearDown() override {
    contract_test::TearDown();
    std::filesystem::remove(file_);
  }

  [[nodiscard]] std::filesystem::path const& file() const noexcept { return file_; }
  [[nodiscard]] tool::trace_model read() const { return tool::read_trace(file_); }
  [[nodiscard]] launch nothing() { return program().nothing.with_shape({1}, {1})(); }

  /// Returns the tasks of a trace by their names, which must differ.
  [[nodiscard]] static std::map<std::string, tool::trace_slice> by_name(
      tool::trace_model const& trace) {
    std::map<std::string, tool::trace_slice> made;
    for (tool::trace_slice const& each : trace.slices) {
      if (each.category != "task") { continue; }
      EXPECT_TRUE(made.emplace(each.name, each).second) << each.name << " appears twice";
    }
    return made;
  }
  /// Returns the arrows of a trace as pairs of names.
  [[nodiscard]] static std::set<std::pair<std::string, std::string>> arrows_of(
      tool::trace_model const& trace) {
    std::set<std::pair<std::string, std::string>> made;
    for (tool::trace_arrow const& each : trace.arrows) {
      made.emplace(trace.slices[each.from].name, trace.slices[each.to].name);
    }
    return made;
  }

 private:
  std::filesystem::path file_;
};

/// Few arrangements, because the contract tests try all.
#define FLOTILLA_TRACED(suite)                                                                    \
  INSTANTIATE_TEST_SUITE_P(                                                                       \
      some, suite,                                                                                \
      ::testing::Values(arrangement{1, 1, tbb_threads::all}, arrangement{2, 2, tbb_threads::all}, \
                        arrangement{2, 0, tbb_threads::all}),                                     \
      arrangement_name)

}  // namespace flotilla::test

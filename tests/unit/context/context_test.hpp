// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A fixture for tests of contexts on CPU devices. The fixture checks that each test leaks no
// context.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "context/context_handle.hpp"
#include "context/description.hpp"
#include "cpu_driver/api/control.hpp"
#include "driver/library.hpp"
#include "support/thrown.hpp"

namespace flotilla::context {

using test::HasSubstr;
using test::thrown;

class context_test : public ::testing::Test {
 protected:
  // The checks are not in SetUp and TearDown, because derived fixtures have contexts as members.
  // These contexts are created before SetUp and destroyed after TearDown.
  context_test() {
    driver::cpu_control().ensure_devices(2);
    EXPECT_EQ(depth(), 0u) << "an earlier test left a context on this thread";
    EXPECT_EQ(driver::cpu_control().live_handles().contexts, 0u)
        << "an earlier test leaked a context";
  }
  ~context_test() override {
    testing::clear_faults();
    EXPECT_EQ(depth(), 0u);
    EXPECT_EQ(driver::cpu_control().live_handles().contexts, 0u);
    EXPECT_EQ(live_contexts(), 0u);
  }

  static std::shared_ptr<driver::table const> api() { return driver::cpu_driver().api; }
  static device cpu(int ordinal = 0) {
    return describe_all(*api(), 2)[static_cast<std::size_t>(ordinal)];
  }
  static std::size_t depth() { return driver::cpu_control().stack_depth(); }
  static CUcontext current() {
    CUcontext top = nullptr;
    EXPECT_EQ(api()->ctx_get_current(&top), CUDA_SUCCESS);
    return top;
  }
};

/// Contexts of the application on the calling thread's stack. flotilla must neither pop nor destroy
/// them.
class foreign_contexts {
 public:
  explicit foreign_contexts(int count) {
    for (int i = 0; i < count; ++i) {
      CUcontext made = nullptr;
      EXPECT_EQ(api().ctx_create(&made, 0, 0), CUDA_SUCCESS);
      made_.push_back(made);
    }
  }
  /// Checks that the stack still contains the contexts in their original order, and destroys them.
  ~foreign_contexts() {
    for (; !made_.empty(); made_.pop_back()) {
      CUcontext popped = nullptr;
      EXPECT_EQ(api().ctx_pop_current(&popped), CUDA_SUCCESS);
      EXPECT_EQ(popped, made_.back());
      EXPECT_EQ(api().ctx_destroy(made_.back()), CUDA_SUCCESS);
    }
  }
  foreign_contexts(foreign_contexts const&) = delete;
  foreign_contexts& operator=(foreign_contexts const&) = delete;
  [[nodiscard]] CUcontext operator[](std::size_t i) const { return made_[i]; }

 private:
  static driver::table const& api() { return *driver::cpu_driver().api; }
  std::vector<CUcontext> made_;
};

}  // namespace flotilla::context

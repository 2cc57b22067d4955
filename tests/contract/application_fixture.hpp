// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of tests with an application that uses streams and events of its own.

#include <optional>

#include "support/application.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {

class application_fixture : public contract_test {
 protected:
  void SetUp() override {
    contract_test::SetUp();
    if (IsSkipped()) { return; }
    (void)program();  // the driver may have to wait for the application's work to load a program
    app_.emplace();
    stream_ = app_->make_stream();
  }
  void TearDown() override {
    if (app_) { app_->open_gate(~0u); }
    stop();
    app_.reset();
    contract_test::TearDown();
  }

  // On an H200 (driver 580.159.04), a runtime with a primary context hung while a stream of the
  // application waited.
  [[nodiscard]] bool may_keep_contexts() const override { return false; }

  std::optional<application> app_;
  CUstream stream_ = nullptr;
};

}  // namespace flotilla::test

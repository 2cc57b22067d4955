// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A receiver of senders that records how its operation ended.

#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

#include <stdexec/execution.hpp>

namespace flotilla::test {

enum class ending { none, value, error, stopped };

/// How an operation ended. Must outlive the operation.
class outcome {
 public:
  [[nodiscard]] ending how() const noexcept { return how_.load(); }
  [[nodiscard]] bool ended() const noexcept { return how() != ending::none; }
  [[nodiscard]] std::exception_ptr const& error() const noexcept { return error_; }
  [[nodiscard]] std::thread::id thread() const noexcept { return thread_; }
  void complete(ending how, std::exception_ptr error = nullptr) noexcept {
    EXPECT_FALSE(ended()) << "an operation completes once";
    error_ = std::move(error);
    thread_ = std::this_thread::get_id();
    how_.store(how);
  }

 private:
  std::atomic<ending> how_{ending::none};
  std::exception_ptr error_;
  std::thread::id thread_;
};

/// A receiver whose environment has no stop token.
class plain_recorder {
 public:
  using receiver_concept = stdexec::FLOTILLA_TEST_RECEIVER_TAG;
  /// @param before  Called first if not null, for example to destroy the operation.
  explicit plain_recorder(outcome& to, std::function<void()>* before = nullptr) noexcept
      : to_{&to}, before_{before} {}
  void set_value() && noexcept { complete(ending::value, nullptr); }
  void set_error(std::exception_ptr why) && noexcept { complete(ending::error, std::move(why)); }
  void set_stopped() && noexcept { complete(ending::stopped, nullptr); }

 private:
  void complete(ending how, std::exception_ptr why) noexcept {
    outcome& to = *to_;  // `before` may destroy this object
    if (before_ != nullptr) { (*before_)(); }
    to.complete(how, std::move(why));
  }
  outcome* to_;
  std::function<void()>* before_;
};

/// A receiver whose environment has a stop token.
class recorder : public plain_recorder {
 public:
  struct environment {
    [[nodiscard]] stdexec::inplace_stop_token query(stdexec::get_stop_token_t) const noexcept {
      return token;
    }
    stdexec::inplace_stop_token token;
  };
  recorder(outcome& to, stdexec::inplace_stop_source const& source) noexcept
      : plain_recorder{to}, token_{source.get_token()} {}
  [[nodiscard]] environment get_env() const noexcept { return {token_}; }

 private:
  stdexec::inplace_stop_token token_;
};

}  // namespace flotilla::test

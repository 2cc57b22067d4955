// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of tests on posted tasks.

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "support/contract_test.hpp"

namespace flotilla::test {

/// Stores the errors that a runtime reports. Must outlive the runtime. Threads: any.
class reported_errors {
 public:
  /// Returns a function for `runtime_options::on_error` that stores each error.
  [[nodiscard]] std::function<void(std::exception_ptr)> handler() {
    return [this](std::exception_ptr why) {
      std::lock_guard const lock{mutex_};
      errors_.push_back(std::move(why));
    };
  }
  [[nodiscard]] std::size_t size() const {
    std::lock_guard const lock{mutex_};
    return errors_.size();
  }
  [[nodiscard]] std::vector<std::exception_ptr> all() const {
    std::lock_guard const lock{mutex_};
    return errors_;
  }
  /// Returns how many of the stored errors are of type `Error`.
  template <class Error>
  [[nodiscard]] std::size_t count() const {
    std::size_t found = 0;
    for (std::exception_ptr const& each : all()) {
      try {
        std::rethrow_exception(each);
      } catch (Error const&) { ++found; } catch (...) {
      }
    }
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::exception_ptr> errors_;
};

/// Starts runtimes that report errors to the member `errors`.
class reporting_test : public contract_test {
 protected:
  runtime& start_reporting(std::optional<std::size_t> window = {}) {
    runtime_options changed = options();
    changed.on_error = errors.handler();
    changed.window = window;
    return start(std::move(changed));
  }

  reported_errors errors;  // outlives the runtime, which TearDown destroys
};

}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/task/executor.hpp>

#include <utility>

#include <flotilla/error/error.hpp>

#include "dispatch/ordering/continuation_table.hpp"

namespace flotilla {
inline namespace v0_1 {

using dispatch::continuation_table;

executor::~executor() = default;

executor_job& executor_job::operator=(executor_job&& other) noexcept {
  if (this != &other) {
    executor_job const replaced{std::exchange(state_, std::move(other.state_))};
  }
  return *this;
}

executor_job::~executor_job() {
  if (state_ != nullptr) { continuation_table::take_back(std::move(state_)); }
}

void executor_job::operator()() {
  if (state_ == nullptr) {
    throw invalid_argument("the job is empty: it has already run, or was moved from");
  }
  continuation_table::run_job(std::exchange(state_, nullptr));
}

}  // namespace v0_1
}  // namespace flotilla

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/task/bulk.hpp>

#include <exception>
#include <string>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace detail {

void submit_source(runtime_impl& to, bulk_source const& items, task_options const& options,
                   ticket* made) {
  dispatch::runtime_state::of(to).bulks.submit(items, options, made);
}

void refuse_item(std::size_t index, std::size_t count) {
  try {
    throw;
  } catch (invalid_argument const& why) {
    throw bulk_error(index, count, why.what(), std::current_exception());
  }
}

void refuse_bulk_count(long long count) {
  throw invalid_argument("bulk: the number of items is " + std::to_string(count) +
                         ", but must not be negative");
}

void refuse_short_range(std::size_t items, std::size_t count) {
  throw invalid_argument("bulk: the range has ended after " + std::to_string(items) +
                         " items, but its size is " + std::to_string(count));
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla

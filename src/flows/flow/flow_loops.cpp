// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The loops of a flow: repeat and repeat_while.

#include <mutex>

#include <flotilla/error/error.hpp>

#include "flows/flow/flow_state.hpp"
#include "flows/repeat/repeater.hpp"

namespace flotilla::flows {

std::size_t flow_state::repeat(std::size_t count, std::function<void()> const& iteration,
                               loop_condition const* condition) {
  runtime_.usage.check_usable();
  if (condition != nullptr) {
    if (ranks_ != nullptr) {
      throw invalid_argument(
          "repeat_while needs a flow without a cluster: the ranks could not agree on the end");
    }
    // The data need contents only after the first iterations.
    detail::datum_use const named{condition->value.what, detail::access_mode::write, nullptr};
    std::lock_guard const lock{mutex_};
    checks_.check({&named, 1}, {"repeat_while"});
    if (named.what->is_token()) {
      throw invalid_argument("repeat_while: the condition needs data, but a token has no memory");
    }
  }
  obstacle_resolver resolver = make_resolver({});
  auto const read = [this](detail::datum& which, std::uint64_t& seen) {
    return wait_for_host(which, false, &seen);
  };
  repeater all{
      {runtime_, mutex_, planner_, host_, resolver, explains_.repeat, read}, iteration, condition};
  return all.run(count);
}

}  // namespace flotilla::flows

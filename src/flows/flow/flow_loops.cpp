// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The loops of a flow: repeat and repeat_while.

#include <mutex>

#include <flotilla/error/error.hpp>

#include "flows/flow/flow_state.hpp"
#include "flows/repeat/repeater.hpp"

namespace flotilla::flows {

using detail::access_mode;

std::size_t flow_state::repeat(std::size_t count, std::function<void()> const& iteration,
                               loop_condition const* condition) {
  runtime_.usage.check_usable();
  obstacle_resolver resolver = make_resolver({});
  repeater::parts const parts{runtime_, mutex_, planner_, host_, resolver, explains_.repeat};
  if (condition == nullptr) { return repeater{parts, iteration}.run(count); }
  if (ranks_ != nullptr) {
    throw invalid_argument(
        "repeat_while needs a flow without a cluster: the ranks could not agree on the end");
  }
  {
    // The data need contents only after the first iterations.
    detail::datum_use const named{condition->value.what, access_mode::write, nullptr};
    std::lock_guard const lock{mutex_};
    checks_.check({&named, 1}, "repeat_while");
    if (named.what->is_token()) {
      throw invalid_argument("repeat_while: the condition needs data, but a token has no memory");
    }
  }
  loop_check const check{
      .every = condition->check_every,
      .read =
          [&](std::uint64_t& seen) { return wait_for_host(*condition->value.what, false, &seen); },
      .goes_on = condition->goes_on};
  return repeater{parts, iteration, &check}.run(count);
}

}  // namespace flotilla::flows

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The implementation of a flow.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/data/flow_counters.hpp>
#include <flotilla/data/flow_options.hpp>
#include <flotilla/detail/data_use.hpp>
#include <flotilla/settings/explanations.hpp>
#include <flotilla/task/task_options.hpp>
#include <flotilla/task/ticket.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/flow/rank_flow.hpp"
#include "flows/flow/use_check.hpp"
#include "flows/order/task_planner.hpp"
#include "flows/placement/device_choice.hpp"
#include "flows/placement/placement_text.hpp"
#include "flows/repeat/loop_condition.hpp"
#include "flows/waiting/host_access.hpp"
#include "flows/waiting/obstacle_resolver.hpp"

namespace flotilla::flows {

/// Orders the tasks of a flow. One mutex makes the order of submissions total. While a thread holds
/// the mutex, it waits for nothing and runs no user code but the handler of the log: a callable
/// that submits to the flow may wait for the mutex while it keeps its device from going on. If
/// something is missing that takes time, such as memory or a place in a window, the thread releases
/// the mutex, gets what is missing, and tries again.
///
/// Threads: any.
class flow_state : public std::enable_shared_from_this<flow_state> {
 public:
  /// @param owner  The runtime. It must outlive all calls of this object.
  /// @throws invalid_argument  The memory limit is 0, or the watermarks are not in order.
  /// @param cluster  The ranks over which the flow runs; null: only this process.
  flow_state(runtime& owner, flow_options const& options,
             std::shared_ptr<cluster_ranks::cluster_state> cluster = nullptr);

  [[nodiscard]] dispatch::runtime_state& runtime_impl() const noexcept { return runtime_; }

  [[nodiscard]] detail::datum* make_datum(detail::host_block const& host, std::string_view label);
  /// @param each  The number of bytes of an object.
  [[nodiscard]] detail::datum* make_datum(detail::device_range const& range, std::size_t each,
                                          std::span<std::size_t const> extents,
                                          std::string_view label);
  [[nodiscard]] detail::datum* make_token(std::string_view label);
  /// Divides data into tiles.
  /// @param tile    The extents of a tile.
  /// @param owners  The rank that owns each tile. Empty: the owner of the data.
  /// @throws invalid_argument  An extent is zero, or the data are divided already.
  [[nodiscard]] tile_list divide(detail::datum& whole, triple const& tile,
                                 std::span<int const> owners);
  /// Returns what the flow does for other ranks; null if it has no cluster.
  [[nodiscard]] rank_flow* ranks() const noexcept { return ranks_.get(); }

  /// Submits a task that runs on a device or on the host of this rank.
  /// @param required   The device on which the task must run, if any.
  /// @param what       The launch; null if the task is none.
  /// @param submit_to  Called as submit_to(place, uses, options) with the mutex locked, after the
  ///                   data have their memory. Submits the task with the memory of these uses,
  ///                   which name partial results where the task reduces. Returns false if a window
  ///                   is full.
  template <class Submit>
  void submit(std::span<detail::datum_use const> uses, task_options const& options,
              std::optional<place> required, launch const* what, Submit const& submit_to);

  /// Runs an iteration many times. See flow::repeat, and flow::repeat_while for the condition.
  /// @return the number of iterations
  std::size_t repeat(std::size_t count, std::function<void()> const& iteration,
                     loop_condition const* condition = nullptr);
  /// Waits until the data are valid on the host. @return where they are.
  /// @param own  If not null and the data had neither partial results nor tiles: is increased by
  ///             the number of changes that this call has made (task_log::changes).
  [[nodiscard]] detail::placed_data wait_for_host(detail::datum& which, bool for_update,
                                                  std::uint64_t* own = nullptr);
  /// Starts to copy the data to a place.
  void prefetch(detail::datum& which, place to);
  [[nodiscard]] bool is_valid_at(detail::datum& which, place where);
  [[nodiscard]] flow_counters counters(place of);
  /// @throws invalid_argument  The flow does not keep its graph.
  [[nodiscard]] std::string dot();

  /// Returns the place of a device. @throws unknown_device
  [[nodiscard]] place checked(device_ordinal device) const {
    return place::of(device_ordinal{runtime_.valid.checked(device)});
  }

 private:
  friend class data_end;
  /// Does what `submit` does, except for other ranks.
  template <class Submit>
  void submit_here(std::span<detail::datum_use const> uses, task_options const& options,
                   std::optional<place> required, launch const* what, Submit const& submit_to);
  /// Returns the device that the runtime's placement chooses. Empty if it chooses none, or the
  /// runtime has no placement. Call it without the mutex. @throws invalid_argument
  [[nodiscard]] std::optional<place> ask_placement(std::span<detail::datum_use const> uses,
                                                   task_options const& options, launch const* what);
  /// Makes data without a valid copy.
  /// @throws invalid_argument  An extent is zero, or there is memory whose size does not match.
  [[nodiscard]] std::unique_ptr<detail::datum> make(std::size_t each,
                                                    std::span<std::size_t const> extents,
                                                    std::optional<std::size_t> objects,
                                                    std::string_view label);
  /// Makes memory of the application the only valid copy. On a rank that does not own the data, it
  /// is memory without contents.
  static void adopt(detail::datum& by, place where, block&& memory, bool is_owner) noexcept;
  [[nodiscard]] static bool reduces(std::span<detail::datum_use const> uses) noexcept {
    return std::any_of(uses.begin(), uses.end(), [](detail::datum_use const& each) {
      return each.mode == detail::access_mode::reduce;
    });
  }
  /// Names the data of the program instead of their partial result, which another thread may
  /// combine, and so destroy, after the mutex was released.
  static void name_own_data(obstacle& why, std::span<detail::datum_use const> uses,
                            std::span<detail::datum_use const> actual) noexcept {
    if (why.whose == nullptr) [[likely]] { return; }
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (actual[i].what == why.whose) { why.whose = uses[i].what; }
    }
  }
  [[nodiscard]] obstacle_resolver make_resolver(task_name const& task) noexcept {
    return {owner_, runtime_, mutex_, planner_, task};
  }

  runtime& owner_;
  dispatch::runtime_state& runtime_;
  std::uint64_t const number_;  // of the runtime
  use_check const checks_;
  host_access const host_;
  std::mutex mutex_;
  // The mutex guards these members and all data of the flow:
  task_planner planner_;
  device_choice devices_;
  std::unique_ptr<rank_flow> const ranks_;  // null: the flow has no cluster

  explanations const explains_;
};

template <class Submit>
void flow_state::submit_here(std::span<detail::datum_use const> uses, task_options const& options,
                             std::optional<place> required, launch const* what,
                             Submit const& submit_to) {
  runtime_.usage.check_usable();
  if (!options.after.empty() || !options.after_end.empty()) {
    runtime_.valid.check_predecessors(options.after.ids(), options.after_end.ids());
  }
  std::optional<place> where = required ? required : ask_placement(uses, options, what);
  placement_text text{explains_.placement && !(where && where->is_host()), options.label};
  if (where && text.is_on()) {
    text.add(*where, required ? "it requires this device" : "the placement chose it");
  }
  obstacle_resolver resolver = make_resolver({options.label, what});
  std::size_t copies = 0;
  while (true) {
    std::vector<detail::datum_use> changed;
    std::span<detail::datum_use const> actual = uses;
    obstacle why;
    {
      std::lock_guard const lock{mutex_};
      checks_.check(uses, {options.label, what});
      iteration_log* const iteration = planner_.log().iteration();
      if (!where && iteration != nullptr) {
        where = iteration->place_of_next_task();
        if (where && text.is_on()) { text.add(*where, "it ran there in the last iteration"); }
      }
      if (!where) { where = place::of(devices_.choose(uses, what, options.priority, text)); }
      if (reduces(uses)) [[unlikely]] {
        changed.assign(uses.begin(), uses.end());
        actual = changed;
        why = planner_.replace_reductions(changed, *where, options.priority);
      }
      if (!why) {
        why = planner_.prepare(actual, *where, options.priority, copies);
        name_own_data(why, uses, actual);
      }
      if (!why) {
        dispatch::flow_task_options how{options};
        if (!where->is_host()) { how.device = where->device(); }
        planner_.order().plan(actual, *where, how);
        if (submit_to(*where, actual, how)) {
          submitted_task const task{how.opened, *where, what, how};
          planner_.commit(uses, actual, task);
          if (iteration != nullptr) [[unlikely]] { iteration->check_predecessors(options); }
          planner_.count(actual, *where, copies);
          devices_.note(actual, task);
          break;
        }
        why = {.kind = obstacle::kinds::window_full, .where = *where};
      }
    }
    resolver.resolve(why);
  }
  text.print();
}

template <class Submit>
void flow_state::submit(std::span<detail::datum_use const> uses, task_options const& options,
                        std::optional<place> required, launch const* what,
                        Submit const& submit_to) {
  rank_flow::or_fail(ranks_.get(), [&] {
    submit_here(uses, options, required, what, submit_to);
    if (ranks_ != nullptr) [[unlikely]] { ranks_->take_home(uses, options); }
  });
}

}  // namespace flotilla::flows

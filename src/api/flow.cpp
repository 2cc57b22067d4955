// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/data/flow.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/data/default_flow.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/kernel/kernel.hpp>

#include "api/cluster_access.hpp"
#include "base/access.hpp"
#include "flows/flow/access.hpp"
#include "flows/flow/data_end.hpp"
#include "flows/flow/flow_state.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

/// Returns the place that the options name, or else the one that the task requires. Only the rank
/// that runs the task has this place. If it has not, it fails, because the others do not know.
std::optional<flows::place> required_place(flows::flow_state& state, task_options const& options,
                                           std::optional<device_ordinal> required = {}) {
  if (!options.device) {
    return required ? std::optional{flows::place::of(*required)} : std::nullopt;
  }
  std::optional<flows::place> named;
  flows::rank_flow::or_fail(state.ranks(), [&] { named = state.checked(*options.device); });
  return named;
}

[[nodiscard]] detail::placed_data placed(detail::datum& which, flows::place where) noexcept {
  return {reinterpret_cast<void*>(which.at(where).memory.address), which.pitch_at(where)};
}

void write_places(std::span<detail::datum_use const> uses, flows::place where,
                  std::span<detail::placed_data> to) noexcept {
  for (std::size_t i = 0; i < uses.size(); ++i) { to[i] = placed(*uses[i].what, where); }
}

/// Writes the place of data into the arguments of a launch.
/// @param which  The data of the use, or the partial result of a task that reduces them.
/// @throws invalid_argument  The kernel takes a pointer, but rows are not adjacent.
void write_argument(std::byte* arguments, detail::use_argument const& use, detail::datum& which,
                    flows::place where, std::string_view label) {
  using rows = view<std::byte, 2>;
  using planes = view<std::byte, 3>;
  static_assert(offsetof(rows, pitch) == offsetof(planes, pitch));
  std::byte* const to = arguments + use.offset;
  std::uintptr_t const address = which.at(where).memory.address;
  std::memcpy(to, &address, sizeof address);
  if (use.view_rank < 2 && which.whole == nullptr) { return; }  // no pitch matters
  if (use.view_rank == 0 && !which.is_dense_at(where)) {
    throw invalid_argument((label.empty() ? "" : "task '" + std::string{label} + "': ") +
                           which.text() +
                           " are a tile whose rows are not adjacent on this device, so the kernel "
                           "needs a view of them instead of a pointer");
  }
  if (use.view_rank < 2) { return; }
  detail::memory_pitch const pitch = which.pitch_at(where);
  std::size_t const row = pitch.row / use.object_bytes;
  std::memcpy(to + offsetof(planes, pitch), &row, sizeof row);
  if (use.view_rank < 3) { return; }
  std::size_t const plane = pitch.plane / use.object_bytes;
  std::memcpy(to + offsetof(planes, plane_pitch), &plane, sizeof plane);
}

/// Tells the checks of the runtime how much memory a use has. Rows that are not adjacent have
/// memory of other data between them, so only the first row counts.
void record_range(launch& of, detail::use_argument const& argument, detail::datum_use const& use,
                  device_ordinal device) {
  auto const parameters = detail::access::parameters(of);
  auto const found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](auto const& each) { return each.offset == argument.offset; });
  if (found == parameters.end()) { return; }
  detail::datum& what = *use.what;
  bool const is_dense = what.is_dense_at(flows::place::of(device));
  detail::argument_range const range{
      .argument = static_cast<std::size_t>(found - parameters.begin()),
      .bytes = is_dense ? what.bytes : what.shape.row_bytes(),
      .device = device,
      .is_read_only = use.mode == detail::access_mode::read};
  std::vector<detail::argument_range>& ranges = detail::access::ranges(of);
  auto const at = std::find_if(ranges.begin(), ranges.end(),
                               [&](auto const& each) { return each.argument >= range.argument; });
  if (at != ranges.end() && at->argument == range.argument) {
    *at = range;
  } else {
    ranges.insert(at, range);
  }
}

flows::flow_state& checked(std::shared_ptr<flows::flow_state> const& state) {
  if (state == nullptr) { throw invalid_argument("the flow was moved from"); }
  return *state;
}

flows::place place_of(flows::flow_state const& state, std::optional<device_ordinal> device) {
  return device ? state.checked(*device) : flows::place::host();
}

}  // namespace

flow::flow(runtime& owner, flow_options const& options)
    : state_{std::make_shared<flows::flow_state>(owner, options)} {}
flow::flow(cluster& all, flow_options const& options) {
  auto const& ranks = detail::cluster_access::state(all);
  if (ranks == nullptr) { throw invalid_argument("the cluster was moved from"); }
  state_ = std::make_shared<flows::flow_state>(ranks->owner(), options, ranks);
}
flow::~flow() = default;

flow_counters flow::counters(device_ordinal device) const {
  flows::flow_state& state = checked(state_);
  return state.counters(state.checked(device));
}

void flow::repeat_function(std::size_t count, std::function<void()> const& iteration) {
  checked(state_).repeat(count, iteration);
}

std::string flow::dot() const { return checked(state_).dot(); }

void flow::submit_launch(data_launch const& what, task_options const& options, ticket* made) {
  flows::flow_state& state = checked(state_);
  if (flows::rank_flow::passes(state.ranks(), detail::flow_access::uses(what), options)) { return; }
  std::optional<flows::place> const required =
      required_place(state, options, detail::flow_access::plain(what).device());
  launch plain = detail::flow_access::plain(what);
  std::span<detail::use_argument const> const arguments = detail::flow_access::arguments(what);
  bool const checks = detail::access::marks(plain).records_ranges;
  state.submit(detail::flow_access::uses(what), options, required, &plain,
               [&](flows::place where, use_list actual, dispatch::flow_task_options const& how) {
                 for (std::size_t i = 0; i < arguments.size(); ++i) {
                   write_argument(detail::launch_builder::arguments(plain), arguments[i],
                                  *actual[i].what, where, options.label);
                   if (checks) { record_range(plain, arguments[i], actual[i], where.device()); }
                 }
                 return state.runtime_impl().tasks.submit(std::as_const(plain), how,
                                                          dispatch::when_full::give_up, made);
               });
}

void flow::submit_bound(use_list uses, std::span<detail::placed_data> places, callable& what,
                        task_options const& options, ticket* made) {
  flows::flow_state& state = checked(state_);
  if (flows::rank_flow::passes(state.ranks(), uses, options)) { return; }
  std::optional<flows::place> const required = required_place(state, options);
  state.submit(uses, options, required, nullptr,
               [&](flows::place where, use_list actual, dispatch::flow_task_options const& how) {
                 write_places(actual, where, places);
                 return state.runtime_impl().tasks.submit(what, how, dispatch::when_full::give_up,
                                                          made);
               });
}

void flow::submit_bound(use_list uses, std::span<detail::placed_data> places,
                        std::unique_ptr<detail::continuation>& what, task_options const& options,
                        ticket* made) {
  flows::flow_state& state = checked(state_);
  if (flows::rank_flow::passes(state.ranks(), uses, options)) { return; }
  state.submit(uses, options, flows::place::host(), nullptr,
               [&](flows::place where, use_list actual, dispatch::flow_task_options const& how) {
                 write_places(actual, where, places);
                 return state.runtime_impl().host.submit(what, how, dispatch::when_full::give_up,
                                                         made);
               });
}

std::size_t detail::repeat_while(flow& to, datum_use const& value,
                                 std::function<bool(placed_data const&)> const& goes_on,
                                 std::function<void()> const& iteration,
                                 loop_options const& options) {
  if (options.most == 0 || options.check_every == 0) {
    throw invalid_argument(std::string{"loop_options::"} +
                           (options.most == 0 ? "most" : "check_every") + " is 0");
  }
  flows::loop_condition const condition{value, goes_on, options.check_every};
  return checked(flow_access::state(to)).repeat(options.most, iteration, &condition);
}

flow& default_flow(runtime& rt) {
  auto& state = dispatch::runtime_state::of(detail::access::impl(rt));
  state.usage.check_usable();
  dispatch::attachment& kept = state.default_flow;
  if (void* const found = kept.get()) { return *static_cast<flow*>(found); }
  // Made without a lock: the constructor may wait for devices.
  return *static_cast<flow*>(kept.keep(std::make_shared<flow>(rt)));
}

namespace detail {

void submit_with_uses(flow& to, std::span<datum_use const> uses, std::span<placed_data> places,
                      callable& what, task_options const& options, ticket* made) {
  to.submit_bound(uses, places, what, options, made);
}

void submit_with_uses(flow& to, std::span<datum_use const> uses, std::span<placed_data> places,
                      std::unique_ptr<continuation>& what, task_options const& options,
                      ticket* made) {
  to.submit_bound(uses, places, what, options, made);
}

void datum_deleter::operator()(datum* which) const noexcept {
  flows::data_end::retire(std::unique_ptr<datum>{which});
}

datum* make_datum(flow& owner, host_block const& host, std::string_view label) {
  return checked(flow_access::state(owner)).make_datum(host, label);
}

datum* make_datum(flow& owner, device_range const& range, std::size_t each,
                  std::span<std::size_t const> extents, std::string_view label) {
  return checked(flow_access::state(owner)).make_datum(range, each, extents, label);
}

datum* make_token(flow& owner, std::string_view label) {
  return checked(flow_access::state(owner)).make_token(label);
}

std::vector<std::unique_ptr<datum, datum_deleter>> divide(datum& whole,
                                                          std::span<std::size_t const> tile,
                                                          std::span<int const> owners) {
  return whole.owner->divide(whole, flows::triple_of(tile), owners);
}

int rank_of_owner(datum const& which) noexcept {
  return which.ranks == nullptr ? 0 : which.ranks->owner();
}
void set_owner(datum& which, int rank) {
  flows::rank_flow::set_owner(which.owner->ranks(), which, rank);
}
void collect(datum& whole) {
  if (flows::rank_flow* const ranks = whole.owner->ranks()) { ranks->collect(whole); }
}

placed_data wait_for_host(datum& which, bool for_update) {
  return which.owner->wait_for_host(which, for_update);
}

void set_write_back(datum& which, bool on) {
  flows::data_end{*which.owner}.set_write_back(which, on);
}

void wait_until_unused(datum& which) { flows::data_end{*which.owner}.wait_until_unused(which); }

bool is_used(datum& which) { return flows::data_end{*which.owner}.is_used(which); }

void prefetch(datum& which, std::optional<device_ordinal> to) {
  which.owner->prefetch(which, place_of(*which.owner, to));
}

bool is_valid_on(datum& which, std::optional<device_ordinal> device) {
  return which.owner->is_valid_at(which, place_of(*which.owner, device));
}

void refuse_tile(std::span<std::size_t const> index, std::span<std::size_t const> extents) {
  auto const text = [](std::span<std::size_t const> of, char const* between) {
    std::string made;
    for (std::size_t const each : of) {
      made += (made.empty() ? "" : between) + std::to_string(each);
    }
    return made;
  };
  throw invalid_argument("there is no tile (" + text(index, ", ") +
                         "): the data are divided into " + text(extents, " x ") + " tiles");
}

void refuse_empty_data() {
  throw invalid_argument("the data object is empty or was moved from; it has no contents");
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla

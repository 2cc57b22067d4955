// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/data/flow.hpp>

#include <cstring>
#include <utility>

#include <flotilla/error/error.hpp>
#include <flotilla/kernel/kernel.hpp>

#include "flows/access.hpp"
#include "flows/flow_state.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

/// Returns the place that the options name, or else the one that the task requires.
std::optional<flows::place> required_place(flows::flow_state const& state,
                                           task_options const& options,
                                           std::optional<device_ordinal> required = {}) {
  if (options.device) { return state.checked(*options.device); }
  return required ? std::optional{flows::place::of(*required)} : std::nullopt;
}

void write_addresses(std::span<detail::datum_use const> uses, flows::place where,
                     std::span<void*> to) noexcept {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    to[i] = reinterpret_cast<void*>(uses[i].what->at(where).memory.address);
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
flow::~flow() = default;

flow_counters flow::counters(device_ordinal device) const {
  flows::flow_state& state = checked(state_);
  return state.counters(state.checked(device));
}

std::string flow::dot() const { return checked(state_).dot(); }

void flow::submit_launch(data_launch const& what, task_options const& options, ticket* made) {
  flows::flow_state& state = checked(state_);
  launch plain = detail::flow_access::plain(what);
  std::span<detail::bound_use const> const bound = detail::flow_access::uses(what);
  std::array<detail::datum_use, detail::max_uses> uses;
  for (std::size_t i = 0; i < bound.size(); ++i) { uses[i] = bound[i].what; }
  state.submit(std::span{uses}.first(bound.size()), options,
               required_place(state, options, plain.device()),
               [&](flows::place where, dispatch::flow_task_options const& how) {
                 for (detail::bound_use const& each : bound) {
                   std::uintptr_t const address = each.what.what->at(where).memory.address;
                   std::memcpy(detail::launch_builder::arguments(plain) + each.offset, &address,
                               sizeof address);
                 }
                 return state.runtime_impl().tasks.submit(std::as_const(plain), how,
                                                          dispatch::when_full::give_up, made);
               });
}

void flow::submit_bound(use_list uses, std::span<void*> addresses, callable& what,
                        task_options const& options, ticket* made) {
  flows::flow_state& state = checked(state_);
  state.submit(uses, options, required_place(state, options),
               [&](flows::place where, dispatch::flow_task_options const& how) {
                 write_addresses(uses, where, addresses);
                 return state.runtime_impl().tasks.submit(what, how, dispatch::when_full::give_up,
                                                          made);
               });
}

void flow::submit_bound(use_list uses, std::span<void*> addresses,
                        std::unique_ptr<detail::continuation>& what, task_options const& options,
                        ticket* made) {
  flows::flow_state& state = checked(state_);
  state.submit(uses, options, flows::place::host(),
               [&](flows::place where, dispatch::flow_task_options const& how) {
                 write_addresses(uses, where, addresses);
                 return state.runtime_impl().host.submit(what, how, dispatch::when_full::give_up,
                                                         made);
               });
}

namespace detail {

void datum_deleter::operator()(datum* which) const noexcept {
  flows::flow_state::retire(std::unique_ptr<datum>{which});
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

void* wait_for_host(datum& which, bool for_update) {
  return which.owner->wait_for_host(which, for_update);
}

void prefetch(datum& which, std::optional<device_ordinal> to) {
  which.owner->prefetch(which, place_of(*which.owner, to));
}

bool is_valid_on(datum& which, std::optional<device_ordinal> device) {
  return which.owner->is_valid_at(which, place_of(*which.owner, device));
}

void refuse_empty_data() {
  throw invalid_argument("the data object is empty or was moved from; it has no contents");
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla

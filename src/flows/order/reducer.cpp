// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/order/reducer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <flotilla/task/host_task.hpp>

#include "base/access.hpp"

namespace flotilla::flows {

using detail::access_mode;
using detail::datum;
using detail::datum_use;

namespace {

/// Combines partial results, whose memory has no gaps, into data on the host.
struct combination {
  detail::reduction how;
  datum_shape shape;
  std::byte* to;
  detail::memory_pitch pitch;  // of `to`
  std::vector<std::byte const*> partials;
  bool has_contents;  // otherwise, the first partial result replaces the contents of `to`

  void operator()() const {
    detail::memory_pitch const dense = shape.dense();
    for (std::size_t plane = 0; plane < shape.extents[0]; ++plane) {
      for (std::size_t row = 0; row < shape.extents[1]; ++row) {
        triple const at{plane, row, 0};
        std::byte* const here = to + shape.offset(at, pitch);
        bool copies = !has_contents;
        for (std::byte const* const each : partials) {
          std::byte const* const from = each + shape.offset(at, dense);
          if (std::exchange(copies, false)) {
            std::memcpy(here, from, shape.row_bytes());
          } else {
            how.combine(here, from, shape.extents[2]);
          }
        }
      }
    }
  }
};

[[nodiscard]] std::byte* memory_of(datum& which, place where) noexcept {
  return reinterpret_cast<std::byte*>(which.at(where).memory.address);
}

// An iteration whose partial results are filled and combined again and again cannot be replayed.
constexpr char const* reads_reduction =
    "a task reads what the iteration reduces at more than one place";

}  // namespace

std::unique_ptr<datum> reducer::make_partial(datum const& of) {
  return std::make_unique<datum>(of.owner,
                                 of.label + (of.label.empty() ? "" : " ") + "(partial result)",
                                 of.shape, of.replicas.size());
}

void reducer::choose_home(datum& which, place where) noexcept {
  if (which.reduction->home || which.reduction->partials[where.index()] != nullptr) { return; }
  // Data on the host cost one copy, and not one in each round. If another device has them, tasks
  // there will probably reduce them, too.
  bool const on_another_device = std::any_of(which.replicas.begin() + 1, which.replicas.end(),
                                             [](replica const& each) { return each.is_valid; }) &&
                                 !which.at(where).is_valid;
  // The memory of a partial result has no gaps, and a kernel may count on that.
  bool const can_be_updated = !on_another_device && which.is_dense_at(where);
  // A rank sends its partial results to the owner of the data.
  if (can_be_updated && which.ranks == nullptr) { which.reduction->home = where; }
}

bool reducer::submit_fill(datum& which, void const* identity, place where,
                          dispatch::flow_task_options const& options, ticket& made) {
  std::size_t const each = which.shape.object_bytes;
  block const& memory = which.at(where).memory;
  if (!where.is_host()) {
    detail::device_range const range{&runtime_, where.device(), memory.address, which.bytes,
                                     memory.reach};
    return runtime_.tasks.submit(detail::access::command(range.fill(identity, each)), options,
                                 dispatch::when_full::give_up, &made);
  }
  auto call = detail::host_access::function_of(
      [to = memory_of(which, where), bytes = which.bytes, identity, each] {
        for (std::size_t at = 0; at < bytes; at += each) { std::memcpy(to + at, identity, each); }
      });
  return runtime_.host.submit(call, options, dispatch::when_full::give_up, &made);
}

obstacle reducer::fill(datum& which, void const* identity, place where, int priority) {
  order_.refuse_replay(reads_reduction);
  datum_use const use{&which, access_mode::write, nullptr};
  std::size_t copies = 0;
  if (obstacle const why = residents_.prepare({&use, 1}, where, priority, copies)) { return why; }
  dispatch::flow_task_options options;
  options.label = which.label;
  options.priority = priority;
  order_.plan({&use, 1}, where, options);
  ticket made;
  if (!submit_fill(which, identity, where, options, made)) {
    return {.kind = obstacle::kinds::window_full, .where = where};
  }
  order_.commit({&use, 1}, {made.id(), where, nullptr, options});
  return {};
}

obstacle reducer::replace(datum_use& use, place where, int priority) {
  datum& which = *use.what;
  if (which.reduction != nullptr && which.reduction->how != use.how) {
    if (obstacle const why = combine(which, priority)) { return why; }
  }
  if (which.reduction == nullptr) {
    auto made = std::make_unique<open_reduction>();
    made->how = use.how;
    made->partials.resize(which.replicas.size());
    which.reduction = std::move(made);
  }
  choose_home(which, where);
  if (which.reduction->home != where && which.reduction->partials[where.index()] == nullptr) {
    which.reduction->partials[where.index()] = make_partial(which);
  }
  datum& updated =
      which.reduction->home == where ? which : *which.reduction->partials[where.index()];
  if (!updated.has_contents) {
    if (obstacle const why = fill(updated, use.how->identity, where, priority)) {
      return why.about(which);
    }
    // Until a task has really reduced them.
    if (&updated == &which) { which.reduction->only_identity = true; }
  }
  use = {&updated, access_mode::update, use.how};
  return {};
}

obstacle reducer::combine(datum& which, int priority) {
  if (which.reduction == nullptr) { return {}; }
  if (!which.reduction->has_results || !which.reduction->has_partials()) {
    discard(which);
    return {};
  }
  order_.refuse_replay(reads_reduction);
  std::vector<datum_use> uses{
      {&which, which.has_contents ? access_mode::update : access_mode::write, nullptr}};
  for (auto const& each : which.reduction->partials) {
    // A partial result has no contents if the task that fills it was not submitted.
    if (each != nullptr && each->has_contents) {
      uses.push_back({each.get(), access_mode::read, nullptr});
    }
  }
  constexpr place on_host = place::host();
  std::size_t copies = 0;
  if (obstacle const why = residents_.prepare(uses, on_host, priority, copies)) {
    return why.about(which);
  }
  combination what{.how = *which.reduction->how,
                   .shape = which.shape,
                   .to = memory_of(which, on_host),
                   .pitch = which.pitch_at(on_host),
                   .partials = {},
                   .has_contents = which.has_contents};
  for (std::size_t i = 1; i < uses.size(); ++i) {
    what.partials.push_back(memory_of(*uses[i].what, on_host));
  }
  dispatch::flow_task_options options;
  options.label = which.label;
  options.priority = priority;
  order_.plan(uses, on_host, options);
  auto call = detail::host_access::function_of(std::move(what));
  ticket made;
  if (!runtime_.host.submit(call, options, dispatch::when_full::give_up, &made)) {
    return {.kind = obstacle::kinds::window_full, .where = on_host};
  }
  order_.commit(uses, {made.id(), on_host, nullptr, options});
  discard(which);
  return {};
}

void reducer::discard(datum& which) noexcept {
  if (which.reduction == nullptr) { return; }
  for (auto const& each : which.reduction->partials) {
    if (each == nullptr) { continue; }
    for (std::size_t i = 0; i < each->replicas.size(); ++i) {
      residents_.release(*each, place::at(i));
    }
  }
  if (which.reduction->only_identity) {
    which.has_contents = false;
    for (replica& each : which.replicas) { each.is_valid = false; }
  }
  which.reduction.reset();
}

}  // namespace flotilla::flows

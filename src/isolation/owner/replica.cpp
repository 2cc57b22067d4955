// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/owner/replica.hpp"

#include <algorithm>

#include <flotilla/error/driver_status.hpp>

#include "driver/check.hpp"
#include "isolation/owner/direct_caller.hpp"
#include "isolation/owner/node_memory.hpp"
#include "isolation/protocol/operation.hpp"

namespace flotilla::isolated {

namespace {

/// The operation that ends an object of this kind, or `ping` if it ends with its parent.
operation end_of(object_kind kind) noexcept {
  switch (kind) {
    case object_kind::context: return operation::ctx_destroy;
    case object_kind::stream: return operation::stream_destroy;
    case object_kind::event: return operation::event_destroy;
    case object_kind::module: return operation::module_unload;
    case object_kind::library: return operation::library_unload;
    case object_kind::graph: return operation::graph_destroy;
    case object_kind::graph_exec: return operation::graph_exec_destroy;
    default: return operation::ping;
  }
}

std::string refusal(char const* what, CUresult status) {
  return std::string{what} + " in a new worker process returned " +
         to_string(driver::status_of(status));
}

bool is_there(std::uint32_t index, replicated const& from) {
  if (index == 0 || index >= max_objects) { return true; }  // null, or a stream by number
  journal& objects = index >= first_shared_object ? from.shared : from.objects;
  return objects.find(index) != nullptr;
}

}  // namespace

void replica::add_steps(plan& into, journal const& objects, replicated const& from,
                        std::uint64_t after) const {
  auto const add = [&](std::uint32_t index, object_kind kind, record const& what, bool makes) {
    bool const can_run = !what.request.empty() &&
                         std::all_of(what.uses.begin(), what.uses.end(),
                                     [&](std::uint32_t each) { return is_there(each, from); });
    if (!can_run) { return; }
    into.steps.push_back({index, what.order, makes, kind, what.request});
    if (kind == object_kind::graph_node) { replace_freed_memory(into.steps.back().request, from); }
  };
  std::size_t const begin = into.steps.size();
  for (auto const& [index, one] : objects.entries()) {
    auto const found = made_.find(index);
    bool const is_new = found == made_.end() || found->second != one.made.order;
    if (is_new) { add(index, one.kind, one.made, true); }
    for (auto const& [unused, change] : one.changes) {
      if (is_new || change.order > after) { add(index, one.kind, change, false); }
    }
  }
  std::sort(into.steps.begin() + static_cast<std::ptrdiff_t>(begin), into.steps.end(),
            [](auto const& a, auto const& b) { return a.order < b.order; });
}

replica::plan replica::prepare(replicated const& from) const {
  plan made;
  for (auto const& [index, order] : made_) {
    journal& objects = index >= first_shared_object ? from.shared : from.objects;
    journal_entry const* const now = objects.find(index);
    if (now == nullptr || now->made.order != order) { made.ended.push_back(index); }
  }
  add_steps(made, from.shared, from, last_shared_order_);
  add_steps(made, from.objects, from, last_order_);
  // Contexts first: a driver may map memory and load code only where there is one.
  std::stable_partition(made.steps.begin(), made.steps.end(), [](auto const& each) {
    return each.makes && each.kind == object_kind::context;
  });
  for (auto const& [address, known] : blocks_) {
    auto const* const now = from.memory.block_at(address);
    if (now == nullptr || now->handle != known.second) {
      made.unmap.emplace_back(address, known.first);
    }
  }
  for (auto const& [address, one] : from.memory.blocks()) {
    auto const known = blocks_.find(address);
    if (known != blocks_.end() && known->second.second == one.handle) { continue; }
    descriptor memory;
    CUresult const shared = from.memory.share(one, memory);
    made.map.push_back({address, one.bytes, one.handle, std::move(memory), shared});
  }
  // Compare the blocks, not their addresses: another block may have the address of a freed one, and
  // then it has other pages.
  std::map<std::uint64_t, plan::registered> now;
  from.host.for_each_registered([&](auto const& one) {
    now[one.id] = {reinterpret_cast<std::uint64_t>(one.address), one.capacity};
  });
  for (auto const& each : host_) {
    if (now.count(each.first) == 0) { made.unregister_host.push_back(each); }
  }
  for (auto const& each : now) {
    if (host_.count(each.first) == 0) { made.register_host.push_back(each); }
  }
  made.seen = state_of(from);
  made.last_order = from.objects.last_order();
  made.last_shared_order = from.shared.last_order();
  return made;
}

std::string replica::apply_memory(plan const& todo) {
  control_message message{};
  auto const ask = [&](control_message::kinds kind, std::uint64_t address, std::size_t bytes,
                       int passed) {
    message.kind = kind;
    message.address = address;
    message.bytes = bytes;
    return static_cast<CUresult>(worker_->ask(message, passed, worker_process::start_limit).status);
  };
  using kinds = control_message::kinds;
  for (auto const& [address, bytes] : todo.unmap) {
    // Another block will get the address, so it must not stay mapped here.
    CUresult const status = ask(kinds::unmap_memory, address, bytes, -1);
    if (status != CUDA_SUCCESS) { return refusal("unmapping device memory", status); }
    blocks_.erase(address);
  }
  for (auto const& each : todo.map) {
    if (each.shared != CUDA_SUCCESS) { return refusal("sharing device memory", each.shared); }
    CUresult const status = ask(kinds::map_memory, each.address, each.bytes, each.memory.get());
    if (status != CUDA_SUCCESS) { return refusal("mapping device memory", status); }
    blocks_[each.address] = {each.bytes, each.handle};
  }
  for (auto const& [id, one] : todo.unregister_host) {
    static_cast<void>(ask(kinds::unregister_host, one.address, one.bytes, -1));
    host_.erase(id);
  }
  for (auto const& [id, one] : todo.register_host) {
    CUresult const status = ask(kinds::register_host, one.address, one.bytes, -1);
    if (status != CUDA_SUCCESS) { return refusal("registering host memory", status); }
    host_[id] = one;
  }
  return {};
}

std::string replica::apply(plan todo) {
  direct_caller calls{*worker_, worker_process::start_limit};
  bool has_memory = false;
  // End the newest first: a context ends after the objects that were made in it.
  std::sort(todo.ended.begin(), todo.ended.end(),
            [&](auto a, auto b) { return made_[a] > made_[b]; });
  for (std::uint32_t const each : todo.ended) {
    struct {
      request_head head;
      std::uint32_t index;
    } const request{{end_of(kinds_[each].value), 0, 0}, each};
    static_cast<void>(calls.send(std::as_bytes(std::span{&request, 1})));
    made_.erase(each);
    kinds_.erase(each);
  }
  for (auto const& step : todo.steps) {
    bool const is_context = step.makes && step.kind == object_kind::context;
    if (!is_context && !has_memory) {
      has_memory = true;
      if (std::string why = apply_memory(todo); !why.empty()) { return why; }
    }
    CUresult const status = calls.send(step.request);
    if (worker_->lost().load() != 0) { return worker_->reason(); }
    if (!step.makes) { continue; }  // the driver may refuse a change as it did before
    if (status != CUDA_SUCCESS) { return refusal("making an object", status); }
    made_[step.index] = step.order;
    kinds_[step.index] = {step.kind};
  }
  if (!has_memory) {
    if (std::string why = apply_memory(todo); !why.empty()) { return why; }
  }
  last_order_ = todo.last_order;
  applied_ = todo.seen;
  last_shared_order_ = todo.last_shared_order;
  return {};
}

std::string replica::complete_events(journal const& objects) {
  direct_caller calls{*worker_, worker_process::start_limit};
  for (auto const& [index, one] : objects.entries()) {
    if (one.kind != object_kind::event || !objects.was_recorded(index)) { continue; }
    message_reader made{one.made.request};
    struct {
      request_head head;
      std::uint32_t event;
      std::uint32_t stream;
    } const request{{operation::event_record, 0, made.get<request_head>().context}, index, 0};
    CUresult const status = calls.send(std::as_bytes(std::span{&request, 1}));
    if (status != CUDA_SUCCESS) { return refusal("recording an event", status); }
  }
  return {};
}

std::vector<std::uint32_t> replica::shared_objects() const {
  std::vector<std::uint32_t> found;
  for (auto const& [index, unused] : made_) {
    if (index >= first_shared_object) { found.push_back(index); }
  }
  return found;
}

}  // namespace flotilla::isolated

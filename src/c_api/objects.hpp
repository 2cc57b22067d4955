// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the handles of the C interface name.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <flotilla/flotilla.h>
#include <flotilla/cluster/cluster.hpp>
#include <flotilla/data/flow.hpp>
#include <flotilla/kernel/untyped_kernel.hpp>
#include <flotilla/memory/device_buffer.hpp>
#include <flotilla/memory/host_buffer.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/settings/settings_report.hpp>
#include <flotilla/task/recording.hpp>
#include <flotilla/trace.hpp>

#include "c_api/handle_table.hpp"

namespace flotilla::c_api {

/// A runtime, and the handles that end with it.
struct held_runtime {
  explicit held_runtime(runtime_options options) : rt{std::move(options)} {}

  runtime rt;
  bool is_being_destroyed = false;         // guarded by the mutex of `destruction`
  std::atomic<std::size_t> buffers{0};     // how many buffers exist
  std::atomic<std::size_t> recordings{0};  // how many recordings exist
  std::atomic<std::size_t> flows{0};       // how many flows exist
  std::atomic<std::size_t> data{0};        // how many data, tiles and tokens exist
  std::atomic<std::size_t> clusters{0};    // how many clusters exist
  std::atomic<std::size_t> traces{0};      // how many traces exist
  std::mutex mutex;                        // for what follows, and for the kernels of programs
  std::vector<std::uint64_t> programs;
  std::vector<std::uint64_t> kernels;
  // The operations that combine partial results, by the structs of the program.
  std::map<flotilla_reduction const*, detail::reduction> reductions;
  // The settings that the program has asked for, by device and name. They own the strings.
  std::map<std::pair<unsigned, std::string>, setting_outcome> settings;
};

struct held_program {
  held_runtime& owner;  // exists as long as the program
  program loaded;
  std::map<std::string, std::uint64_t, std::less<>> kernels{};  // by name; owner.mutex guards it
};

struct held_kernel {
  held_runtime& owner;  // exists as long as the kernel
  untyped_kernel found;
};

struct held_recording {
  held_runtime& owner;  // exists as long as the recording
  recording held;
  std::vector<recorded_task> tasks{};  // by number
};

using device_bytes = device_buffer<std::byte>;
using host_bytes = host_buffer<std::byte>;

struct held_buffer {
  held_runtime& owner;  // exists as long as the buffer
  std::variant<device_bytes, host_bytes> memory;
};

struct held_cluster {
  held_cluster(held_runtime& of, transport const& via) : owner{of}, held{of.rt, via} {}

  held_runtime& owner;  // exists as long as the cluster
  cluster held;
  bool is_being_destroyed = false;  // guarded by the mutex of `destruction`
  // Each flow, and all data, of the cluster have a copy, so its use_count counts them.
  std::shared_ptr<void> users = std::make_shared<char>();
};

struct held_flow {
  held_runtime& owner;               // exists as long as the flow
  std::shared_ptr<void> of_cluster;  // its `users`; null without a cluster
  flow held;
};

/// Data, a tile or a token.
struct held_data {
  held_runtime& owner;               // exists as long as the data
  std::shared_ptr<void> of_cluster;  // that of the flow
  std::unique_ptr<detail::datum, detail::datum_deleter> state;
  std::size_t object_bytes = 0;        // 0: a token
  std::vector<std::size_t> extents{};  // empty: a token
  [[nodiscard]] bool is_token() const noexcept { return extents.empty(); }
};

struct held_trace {
  held_runtime& owner;  // exists as long as the trace
  trace held;
};

using runtime_table = handle_table<std::unique_ptr<held_runtime>, kinds::runtime>;
using program_table = handle_table<held_program, kinds::program>;
using kernel_table = handle_table<held_kernel, kinds::kernel>;
using buffer_table = handle_table<held_buffer, kinds::buffer>;
using recording_table = handle_table<held_recording, kinds::recording>;
using flow_table = handle_table<held_flow, kinds::flow>;
using cluster_table = handle_table<std::unique_ptr<held_cluster>, kinds::cluster>;
using data_table = handle_table<held_data, kinds::data>;
using trace_table = handle_table<held_trace, kinds::trace>;
using ticket_table = handle_table<ticket, kinds::ticket>;

[[noreturn]] void refuse_handle(std::uint64_t id, kinds wanted);

template <class Table>
[[nodiscard]] auto& object_of(Table& table, std::uint64_t id, kinds kind) {
  auto* const found = table.find(id);
  if (found == nullptr) [[unlikely]] { refuse_handle(id, kind); }
  return *found;
}

// Each of these functions returns the object of a handle.
// @throws refused_call  The handle names no such object.

[[nodiscard]] inline held_runtime& object(flotilla_runtime handle) {
  return *object_of(runtime_table::get(), handle.id, kinds::runtime);
}
[[nodiscard]] inline held_program& object(flotilla_program handle) {
  return object_of(program_table::get(), handle.id, kinds::program);
}
[[nodiscard]] inline held_kernel& object(flotilla_kernel handle) {
  return object_of(kernel_table::get(), handle.id, kinds::kernel);
}
[[nodiscard]] inline held_buffer& object(flotilla_buffer handle) {
  return object_of(buffer_table::get(), handle.id, kinds::buffer);
}
[[nodiscard]] inline held_recording& object(flotilla_recording handle) {
  return object_of(recording_table::get(), handle.id, kinds::recording);
}
[[nodiscard]] inline held_flow& object(flotilla_flow handle) {
  return object_of(flow_table::get(), handle.id, kinds::flow);
}
[[nodiscard]] inline held_cluster& object(flotilla_cluster handle) {
  return *object_of(cluster_table::get(), handle.id, kinds::cluster);
}
[[nodiscard]] inline held_data& object(flotilla_data handle) {
  return object_of(data_table::get(), handle.id, kinds::data);
}
[[nodiscard]] inline held_trace& object(flotilla_trace handle) {
  return object_of(trace_table::get(), handle.id, kinds::trace);
}
[[nodiscard]] inline ticket& object(flotilla_ticket handle) {
  return object_of(ticket_table::get(), handle.id, kinds::ticket);
}

/// Ends the object of a handle, destroys it, and counts it down in its runtime, also if `end`
/// throws. If several threads do so, all but one are refused.
/// @param end  Called with the object.
/// @throws refused_call  The handle names no such object.
template <class Table, class End>
void end_object(Table& table, std::uint64_t id, kinds kind,
                std::atomic<std::size_t> held_runtime::*count, End const& end) {
  auto taken = table.take(id);
  if (!taken) { refuse_handle(id, kind); }
  struct finally {
    ~finally() {
      object.reset();
      count.fetch_sub(1);  // last, because afterwards the runtime may be destroyed
    }
    decltype(taken)& object;
    std::atomic<std::size_t>& count;
  } const at_end{taken, taken->owner.*count};
  end(*taken);
}
template <class Table>
void end_object(Table& table, std::uint64_t id, kinds kind,
                std::atomic<std::size_t> held_runtime::*count) {
  end_object(table, id, kind, count, [](auto&) {});
}

}  // namespace flotilla::c_api

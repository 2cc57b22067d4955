// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gives the library access to private members of the public classes.

#include <cstdint>
#include <memory>
#include <span>

#include <flotilla/context/context_driver.hpp>
#include <flotilla/context/context_ref.hpp>
#include <flotilla/detail/access.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/task/recording.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// Each function gives access to one class and does nothing else.
struct access {
  static runtime_impl& impl(runtime const& runtime) noexcept { return *runtime.impl_; }
  /// Makes a runtime that owns `impl`. `impl` must have been allocated with `new`.
  static runtime make(runtime_impl& impl) noexcept { return runtime{impl}; }
  static runtime_impl* impl(launch const& launch) noexcept { return launch.owner_; }
  static std::uint32_t kernel_index(launch const& launch) noexcept { return launch.kernel_; }
  /// What submit must know about a launch (see the members of launch).
  struct launch_marks {
    bool goes_alone;
    bool is_attributed;
    bool is_special;
    bool records_ranges;
  };
  static launch_marks marks(launch const& launch) noexcept {
    return {launch.goes_alone_, launch.attributed_, launch.is_special_, launch.records_ranges_};
  }
  static std::span<parameter_info const> parameters(launch const& launch) noexcept {
    return launch.parameters_;
  }
  /// The vector of the buffers and spans among the arguments.
  static auto& ranges(auto& launch) noexcept { return launch.ranges_; }
  /// Returns the offset of the task_status in the arguments. The launch must have one.
  static std::uint16_t status_offset(launch const& launch) noexcept {
    return launch.status_offset_;
  }
  static memory_command const& command(memory_op const& op) noexcept { return op.command_; }
  /// Returns an empty list that is a constant expression.
  static constexpr dependency_list constant_list() noexcept {
    return dependency_list{dependency_list::constant{}};
  }
  static program make_program(runtime_impl& impl, std::uint32_t index) noexcept {
    return {impl, index};
  }
  static runtime_impl* impl(ticket const& ticket) noexcept { return ticket.runtime_; }
  static std::uint32_t& device(ticket const& ticket) noexcept { return ticket.device_; }
  /// Makes `ticket` name this task. `ticket` must be empty before the call.
  static void set(ticket& ticket, runtime_impl& runtime, std::uint32_t slot,
                  std::uint64_t generation, std::uint32_t device) noexcept {
    ticket.runtime_ = &runtime;
    ticket.slot_ = slot;
    ticket.generation_ = generation;
    ticket.device_ = device;
  }
  static context_driver make(std::shared_ptr<driver::table const> api) noexcept {
    return context_driver{std::move(api)};
  }
  static context_ref make(std::shared_ptr<driver::table const> api, CUctx_st* handle) noexcept {
    return context_ref{std::move(api), handle};
  }
  static std::shared_ptr<driver::table const> const& api(context_driver const& driver) noexcept {
    return driver.api_;
  }
  static std::shared_ptr<driver::table const> const& api(context_ref const& context) noexcept {
    return context.api_;
  }
  static bool is_recorded(task_id id) noexcept {
    return (id.runtime & dependency_list::recording_bit) != 0;
  }
  static task_id id_of(recorded_task task) noexcept { return dependency_list::id_of(task); }
  /// Returns the number of the recording to which a recorded task belongs. `id.slot` is the index
  /// of the task in the recording.
  static std::uint64_t recording_of(task_id id) noexcept {
    return id.runtime & ~dependency_list::recording_bit;
  }
  static recorded_task make_recorded_task(std::uint64_t recording, std::uint32_t index) noexcept {
    recorded_task task;
    task.recording_ = recording;
    task.index_ = index;
    return task;
  }
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the task whose kernel has caused a signal on a CPU device.

#include <span>
#include <string_view>

#include <flotilla/device/device.hpp>

#include "base/fault_line.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/lane/completion_board.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Knows the tasks of one runtime. The constructor makes it known to the signal handler.
class kernel_describer final : public base::fault_describer {
 public:
  struct parts {
    task_table const& tasks;
    kernel_table const& kernels;
    completion_board const& board;
    std::span<device const> infos;  // by device index
  };
  explicit kernel_describer(parts const& with) noexcept : parts_(with) {
    base::add_fault_describer(*this);
  }
  ~kernel_describer() { base::remove_fault_describer(*this); }
  kernel_describer(kernel_describer const&) = delete;
  kernel_describer& operator=(kernel_describer const&) = delete;

  bool describe(std::string_view kernel, int device,
                base::fault_line& line) const noexcept override;

 private:
  /// Returns whether the task may be running this kernel on the device now. A replay may run any
  /// kernel.
  /// @param is_oldest  Whether the task must be in the oldest batch of its lane. The host may not
  ///                   know yet that a batch before it has ended.
  [[nodiscard]] bool may_run(slot_address task, std::string_view kernel, unsigned device,
                             bool is_oldest) const noexcept;
  /// Adds the labels of these tasks and the device. @return whether there are such tasks
  bool add_tasks(std::string_view kernel, unsigned device, bool is_oldest,
                 base::fault_line& line) const noexcept;

  parts const parts_;
};

}  // namespace flotilla::dispatch

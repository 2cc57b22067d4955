// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory in which the tasks of the conservation test count their runs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <flotilla/flotilla.hpp>

namespace flotilla::test {

/// Where a cell is: the ordinal of a device, or `cells::devices()` for pinned memory.
using cell_place = unsigned;

/// A cell is a word that counts the runs of one task. Each task has a cell on every device and a
/// cell in pinned memory. A task uses exactly one of its cells.
class cells {
 public:
  cells(runtime& rt, std::size_t tasks) : rt_{rt}, pinned_{rt, tasks} {
    std::fill(pinned_.begin(), pinned_.end(), 0u);
    for (device const& each : rt.devices()) {
      auto& memory = of_device_.emplace_back(rt, each.ordinal, tasks);
      rt.submit(memory.fill(0)).wait();
    }
  }
  [[nodiscard]] unsigned devices() const { return static_cast<unsigned>(of_device_.size()); }
  [[nodiscard]] std::uint32_t* at(cell_place place, std::size_t task) {
    return (place == devices() ? pinned_.data() : of_device_[place].data()) + task;
  }
  /// Whether a kernel on `device` can read a cell in `place`. If the device is not known yet,
  /// `device` must be `devices()`. Then only cells in pinned memory are safe to read.
  [[nodiscard]] bool can_read(unsigned device, cell_place place) const {
    return place == devices() || place == device;
  }
  /// Returns a copy operation that sets the cell of `task` to `one`. The test submits this
  /// operation as the task.
  [[nodiscard]] memory_op set(unsigned device, std::size_t task, std::uint32_t const& one) {
    return of_device_[device].subspan(task, 1).copy_from(std::span{&one, 1});
  }
  struct miscount {
    std::size_t task;
    std::uint32_t times;
  };
  /// Returns the tasks that did not run exactly once. Call it only while the runtime is idle.
  [[nodiscard]] std::vector<miscount> wrong() const {
    std::vector<std::uint32_t> sums(pinned_.begin(), pinned_.end()), seen(pinned_.size());
    for (device_buffer<std::uint32_t> const& each : of_device_) {
      rt_.submit(each.copy_to(std::span{seen})).wait();
      for (std::size_t i = 0; i < sums.size(); ++i) { sums[i] += seen[i]; }
    }
    std::vector<miscount> found;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] != 1) { found.push_back({i, sums[i]}); }
    }
    return found;
  }

 private:
  runtime& rt_;
  host_buffer<std::uint32_t> pinned_;
  std::vector<device_buffer<std::uint32_t>> of_device_;
};

}  // namespace flotilla::test

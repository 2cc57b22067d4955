#pragma once
// A word for each task, which counts how often it ran.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <flotilla/flotilla.hpp>

namespace flotilla::test {

/// Where cells lie: a device's ordinal, or, where every device reaches them, `devices()`.
using cell_place = unsigned;

/// Any task may have its cell anywhere: there are as many as tasks in each place. Of a task's cells one counts.
class cells {
 public:
  cells(runtime& rt, std::size_t tasks) : rt_{rt}, pinned_{rt, tasks} {
    std::fill(pinned_.begin(), pinned_.end(), 0u);
    for (device const& each : rt.devices()) {
      auto& made = of_device_.emplace_back(rt, each.ordinal, tasks);
      rt.submit(made.fill(0)).wait();
    }
  }
  [[nodiscard]] unsigned devices() const { return static_cast<unsigned>(of_device_.size()); }
  [[nodiscard]] std::uint32_t* at(cell_place place, std::size_t task) const {
    auto* const first =
        place == devices() ? pinned_.data() : static_cast<std::uint32_t*>(of_device_[place]);
    return first + task;
  }
  /// Whether kernels on device `from` can read what lies at `place`. `devices()` stands for any device.
  [[nodiscard]] bool can_read(unsigned from, cell_place place) const {
    return place == devices() || place == from;
  }
  /// A copy that sets a cell of a device as a run would.
  [[nodiscard]] transfer set(unsigned device, std::size_t task, std::uint32_t const& one) const {
    return {.owner = of_device_[device].owner(),
            .kind = transfer::kinds::host_to_device,
            .to = of_device_[device].address() + task * sizeof one,
            .from = reinterpret_cast<std::uintptr_t>(&one),
            .bytes = sizeof one,
            .device = device_ordinal{device}};
  }
  struct miscount {
    std::size_t task;
    std::uint32_t times;
  };
  /// The tasks that ran not exactly once. When nothing runs any more.
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

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The colours of the picture of a trace: one for each kernel, or kind of task.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace_model.hpp"

namespace tool {

/// Returns the kernel of a task or of a batch, or the kind of a task, for example "copy to host".
/// Labels have no part in it: with one label for each image, each task would have its own colour.
[[nodiscard]] inline std::string const& kernel_of(trace_slice const& slice) {
  return slice.kernel.empty() ? slice.name : slice.kernel;
}

struct trace_colour {
  char const* fill;
  char const* text;  // readable on it
};

class trace_colours {
 public:
  struct entry {
    std::string kernel;
    std::size_t tasks = 0;
    std::int64_t time = 0;  // the sum of its slices
    trace_colour colour{};
  };

  /// The kernels with the longest times get colours of their own, and the others share one.
  explicit trace_colours(trace_model const& trace);

  [[nodiscard]] trace_colour of(trace_slice const& slice) const;
  /// The kernels with colours, the longest time first. The last entry may be the others together.
  [[nodiscard]] std::vector<entry> const& legend() const noexcept { return legend_; }

 private:
  std::vector<entry> legend_;
  std::map<std::string, trace_colour> by_kernel_;
};

}  // namespace tool

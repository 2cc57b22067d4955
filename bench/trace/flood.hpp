// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cost of a trace of a flood of tasks.

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace flotilla::bench {

struct flood_cost {
  double ns = 0;  // for each task
  std::uint64_t traced = 0;
  std::uint64_t dropped = 0;
  std::uint64_t bytes = 0;  // of the file
};

/// Posts `tasks` empty launches to the first device and waits for them.
/// @param every  0: without a trace. Otherwise trace_options::every.
/// @param file   The file of the trace, which is removed afterwards.
[[nodiscard]] flood_cost measure_flood(std::size_t tasks, std::uint32_t every,
                                       std::filesystem::path const& file);

}  // namespace flotilla::bench

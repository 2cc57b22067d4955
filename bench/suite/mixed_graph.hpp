// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A control: the tasks of the row `mixed` as a CUDA graph that is relaunched unchanged.

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "cached_fixture.hpp"
#include "mixed_tasks.hpp"
#include "plain_device.hpp"

namespace flotilla::bench {

/// The nodes of the graph are in 64 parallel chains.
class mixed_graph final : public cached_fixture {
 public:
  struct options {
    std::size_t nodes = 0;
    bool operator==(options const&) const = default;
  };
  explicit mixed_graph(options const& wanted);
  ~mixed_graph() override;

  /// Launches the graph `times` times and waits for the end.
  void relaunch(std::int64_t times);
  /// Checks what the kernels wrote, and clears it. @throws std::runtime_error
  void check_words();

  options const created_with;

 private:
  void create();

  plain_device device_;
  mixed_tasks const tasks_;
  CUstream stream_ = nullptr;
  CUdeviceptr words_ = 0;
  CUgraph description_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

}  // namespace flotilla::bench

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cost of the encoder of a trace alone.

#include <cstddef>

namespace flotilla::bench {

struct encoder_cost {
  double ns = 0;     // for each task, of the processor time of the thread
  double bytes = 0;  // for each task
};

enum class encoded { batches, single_launches, labels, predecessors };

/// Encodes `tasks` tasks on the calling thread.
[[nodiscard]] encoder_cost measure_encoder(encoded what, std::size_t tasks);

}  // namespace flotilla::bench

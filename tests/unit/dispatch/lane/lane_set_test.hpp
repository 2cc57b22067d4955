// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A fixture without a runtime: all lanes of a CPU device. The device's context is current.

#include <gtest/gtest.h>

#include "context/lease.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "unit/context/context_test.hpp"

namespace flotilla::dispatch {

class lane_set_test : public context::context_test {
 protected:
  lane_set_test() { board_.add(context_, lane_layout::all_lanes, 0); }
  ~lane_set_test() override {
    EXPECT_EQ(api()->ctx_synchronize(), CUDA_SUCCESS);
    board_.events_of(0).destroy();
    board_.page_of(0).unregister();
  }
  completion_page& page() { return board_.page_of(0); }

  context::context_handle context_{api(), cpu(), {}};
  context::lease_gate gate_{context_};
  context::lease held_{gate_.take()};
  context::current_scope scope_{held_};
  completion_board board_;
};

/// The lanes that most tests use.
class open_lanes_test : public lane_set_test {
 protected:
  ~open_lanes_test() override { lanes_.destroy(); }

  lane_set lanes_{context_, page(), board_, 0, 4, false};
};

}  // namespace flotilla::dispatch

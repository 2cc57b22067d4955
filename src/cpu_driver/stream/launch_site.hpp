// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The context and the device that an operation runs on.

#include "cpu_driver/properties/multiprocessors.hpp"
#include "cpu_driver/stream/context_resources.hpp"

namespace flotilla::cpu_driver {

struct launch_site {
  context_resources& context;
  int device;                  // ordinal of the device
  block_placement& placement;  // block placement of the device thread
};

}  // namespace flotilla::cpu_driver

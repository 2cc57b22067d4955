// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data that the task of a replayed part stores in its slot.

#include <cstdint>

#include "dispatch/recording/change_list.hpp"

namespace flotilla::dispatch {

struct replayed_part {
  std::uint32_t part = 0;                      // index in recorded_parts
  std::uint32_t changes = change_lists::none;  // index of the change list to apply
  std::uint64_t version = 0;                   // recorded_part::version() at the launch
  std::uint64_t replay = 0;                    // the number of the replay; the first is 1
};

}  // namespace flotilla::dispatch

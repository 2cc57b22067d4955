// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The list of all scenarios with code of the library. orders_test.cpp explores them.

#include <string>
#include <vector>

#include "memory_order/explorer.hpp"

namespace flotilla::test::memory_order {

struct subject {
  std::string name;
  scenario what;
  limits at_most;
};
inline std::vector<subject>& subjects() {
  static std::vector<subject> all;
  return all;
}
/// A namespace-scope object adds its scenario to the list.
struct add_subject {
  add_subject(std::string name, scenario what, int preemptions = -1) {
    subjects().push_back({std::move(name), std::move(what), {.preemptions = preemptions}});
  }
};

}  // namespace flotilla::test::memory_order

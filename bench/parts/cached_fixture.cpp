// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cached_fixture.hpp"

namespace flotilla::bench {

std::unique_ptr<cached_fixture>& fixture_cache() {
  static std::unique_ptr<cached_fixture> cached;
  return cached;
}

void drop_fixture() { fixture_cache().reset(); }

}  // namespace flotilla::bench

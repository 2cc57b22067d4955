// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A bulk that is submitted only if there is room.
// expect: a bulk may have more items than the window has places

#include <vector>

#include <flotilla/flotilla.hpp>

void run(flotilla::runtime& rt, std::vector<flotilla::launch> const& steps) {
#ifdef MISTAKE
  (void)rt.try_submit(flotilla::bulk(steps));
#else
  (void)rt.submit(flotilla::bulk(steps));
#endif
}

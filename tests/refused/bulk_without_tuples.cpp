// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A range of numbers instead of tuples, as the arguments of a bulk.
// expect: needs the arguments of one launch as a std::tuple

#include <array>
#include <vector>

#include <flotilla/flotilla.hpp>

void run(flotilla::runtime& rt, flotilla::kernel<int> const& kernel) {
#ifdef MISTAKE
  (void)rt.submit(flotilla::bulk(kernel.over(32), std::vector<int>{1, 2, 3}));
#else
  (void)rt.submit(flotilla::bulk(kernel.over(32), std::vector<std::array<int, 1>>{{1}, {2}, {3}}));
#endif
}

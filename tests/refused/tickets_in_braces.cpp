// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tickets in the braces of a vector, which copies them. The errors are in the standard library.
// errors: 4
// expect: {std::move(a)} of a std::vector copies: use push_back

#include <utility>
#include <vector>

#include <flotilla/flotilla.hpp>

void run(flotilla::ticket a) {
#ifdef MISTAKE
  std::vector<flotilla::ticket> all{std::move(a)};
#else
  std::vector<flotilla::ticket> all;
  all.push_back(std::move(a));
#endif
}

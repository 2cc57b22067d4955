// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A floating-point number of threads.
// expect: the number of threads must be an integer

#include <flotilla/flotilla.hpp>

void run(flotilla::kernel<> const& kernel, double threads) {
#ifdef MISTAKE
  (void)kernel.over(threads);
#else
  (void)kernel.over(static_cast<int>(threads));
#endif
}

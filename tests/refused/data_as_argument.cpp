// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Data as an argument of a kernel, without how the kernel uses them.
// expect: say how the kernel uses the data

#include <flotilla/flotilla.hpp>

void run(flotilla::kernel<float*> const& k, flotilla::data<float>& x) {
#ifdef MISTAKE
  (void)k.over(1)(x);
#else
  (void)k.over(1)(write(x));
#endif
}

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A floating-point argument of an integral kernel parameter.
// expect: would lose its fraction
// expect: argument_index<1>
// expect: parameter_type<int>
// expect: argument_type<double>

#include <flotilla/flotilla.hpp>

void run(flotilla::kernel<float*, int> const& kernel, flotilla::device_buffer<float>& x) {
#ifdef MISTAKE
  (void)kernel.over(32)(x, 16.7);
#else
  (void)kernel.over(32)(x, static_cast<int>(16.7));
#endif
}

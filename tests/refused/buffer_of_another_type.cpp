// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A buffer whose element type differs from the kernel parameter.
// expect: pointer to its element type
// expect: argument_index<0>
// expect: parameter_type<float*>
// expect: argument_type<flotilla::device_buffer<double>>

#include <flotilla/flotilla.hpp>

void run(flotilla::kernel<float*, int> const& kernel, flotilla::device_buffer<double>& x,
         flotilla::device_buffer<float>& y) {
#ifdef MISTAKE
  (void)kernel.over(32)(x, 32);
#else
  (void)kernel.over(32)(y, 32);
#endif
}

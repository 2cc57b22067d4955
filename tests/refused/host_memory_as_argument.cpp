// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A std::vector as a kernel argument.
// expect: host memory cannot be a kernel argument
// expect: argument_index<0>
// expect: parameter_type<float*>
// expect: argument_type<std::vector<float

#include <vector>

#include <flotilla/flotilla.hpp>

void run(flotilla::kernel<float*, int> const& kernel, std::vector<float>& x,
         flotilla::device_buffer<float>& y) {
#ifdef MISTAKE
  (void)kernel.over(32)(x, 32);
#else
  (void)kernel.over(32)(y, static_cast<int>(x.size()));
#endif
}

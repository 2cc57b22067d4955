// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A const buffer as an argument to which the kernel writes.
// expect: needs a pointer to const
// expect: argument_index<0>
// expect: parameter_type<float*>
// expect: argument_type<const flotilla::device_buffer<float>>

#include <utility>

#include <flotilla/flotilla.hpp>

void run(flotilla::kernel<float*, int> const& kernel, flotilla::device_buffer<float>& x) {
#ifdef MISTAKE
  (void)kernel.over(32)(std::as_const(x), 32);
#else
  (void)kernel.over(32)(x, 32);
#endif
}

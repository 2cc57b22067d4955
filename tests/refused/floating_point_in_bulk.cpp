// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A floating-point argument of an integral kernel parameter, in a bulk.
// expect: would lose its fraction
// expect: argument_index<1>
// expect: parameter_type<int>
// expect: argument_type<double>

#include <tuple>

#include <flotilla/flotilla.hpp>

void run(flotilla::runtime& rt, flotilla::kernel<float*, int> const& kernel,
         flotilla::device_span<float> x) {
#ifdef MISTAKE
  (void)rt.submit(flotilla::bulk(kernel.over(32), 10, [&](std::size_t i) {
    return std::tuple{x, static_cast<double>(i)};
  }));
#else
  (void)rt.submit(flotilla::bulk(kernel.over(32), 10, [&](std::size_t i) {
    return std::tuple{x, static_cast<int>(i)};
  }));
#endif
}

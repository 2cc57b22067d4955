// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A number instead of a device.
// expect: write device_ordinal{n}

#include <flotilla/flotilla.hpp>

void run(flotilla::runtime& rt) {
#ifdef MISTAKE
  flotilla::device_buffer<float> const x{rt, 0, 32};
#else
  flotilla::device_buffer<float> const x{rt, flotilla::device_ordinal{0}, 32};
#endif
}

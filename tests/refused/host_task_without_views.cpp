// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A host task of a flow whose function takes another view than that of its data.
// expect: takes a view of each of the data

#include <flotilla/flotilla.hpp>

void run(flotilla::flow& flow, flotilla::data<float>& x) {
#ifdef MISTAKE
  (void)flow.submit(uses(read(x)), flotilla::host_task([](flotilla::view<float>) {}));
#else
  (void)flow.submit(uses(read(x)), flotilla::host_task([](flotilla::view<float const>) {}));
#endif
}

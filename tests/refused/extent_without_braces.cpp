// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The extent of data as a plain number.
// expect: write the extents in braces

#include <flotilla/flotilla.hpp>

void run(flotilla::flow& flow) {
#ifdef MISTAKE
  flotilla::data<float> const x{flow, 5};
#else
  flotilla::data<float> const x{flow, {5}};
#endif
}

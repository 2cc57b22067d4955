// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A callable of a flow that takes no view of its data.
// expect: A callable takes a

#include <flotilla/flotilla.hpp>

void run(flotilla::flow& flow, flotilla::data<float>& x) {
#ifdef MISTAKE
  (void)flow.submit(uses(write(x)), [](flotilla::task_context&) {});
#else
  (void)flow.submit(uses(write(x)), [](flotilla::task_context&, flotilla::view<float>) {});
#endif
}

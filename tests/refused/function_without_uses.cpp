// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A callable for a flow without the data that it uses.
// expect: or begin with uses(

#include <flotilla/flotilla.hpp>

void run(flotilla::flow& flow, flotilla::data<float>& x) {
#ifdef MISTAKE
  (void)x;
  (void)flow.submit([](flotilla::task_context&) {});
#else
  (void)flow.submit(uses(write(x)), [](flotilla::task_context&, flotilla::view<float>) {});
#endif
}

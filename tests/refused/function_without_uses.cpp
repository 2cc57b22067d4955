// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A callable for a flow without the data that it uses.
// expect: needs data: uses(

#include <flotilla/flotilla.hpp>

void run(flotilla::flow& flow, flotilla::data<float>& x) {
#ifdef MISTAKE
  (void)x;
  (void)flow.submit([](flotilla::task_context&) {}, {.label = "x"});
#else
  (void)flow.submit(uses(write(x)), [](flotilla::task_context&, flotilla::view<float>) {});
#endif
}

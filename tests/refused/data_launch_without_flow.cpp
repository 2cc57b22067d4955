// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A launch that uses data, submitted to a runtime.
// expect: data need a flow

#include <flotilla/flotilla.hpp>

void run(flotilla::runtime& rt, flotilla::flow& flow, flotilla::kernel<float*> const& k,
         flotilla::data<float>& x) {
#ifdef MISTAKE
  (void)flow;
  (void)rt.submit(k.over(1)(write(x)));
#else
  (void)rt;
  (void)flow.submit(k.over(1)(write(x)));
#endif
}

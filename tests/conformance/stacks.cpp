// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The stack of current contexts of a thread.
#include "transcript.hpp"

namespace transcript {

void stacks() {
  CUcontext const a = floating();
  CUcontext const b = floating();
  auto const who = [&](CUcontext which) { return name_of(which, {{"A", a}, {"B", b}}); };
  CUcontext found = nullptr;
  CUresult status = CUDA_SUCCESS;

  for (int i = 0; i < 100; ++i) { push(i % 2 == 0 ? a : b); }
  note("current after 100 pushes, A and B in turn", who(current()));
  for (int i = 0; i < 99; ++i) { static_cast<void>(pop()); }
  note("current after 99 pops", who(current()));
  say("set current A over [A]", cuCtxSetCurrent(a));
  status = cuCtxPopCurrent(&found);
  say("pop", status, who(found));
  say("pop an empty stack", cuCtxPopCurrent(&found));
  say("pop an empty stack, nowhere to put it", cuCtxPopCurrent(nullptr));
  push(a);
  say("pop, nowhere to put it", cuCtxPopCurrent(nullptr));
  note("current", who(current()));
  say("get current, nowhere to put it", cuCtxGetCurrent(nullptr));
  say("set current none over an empty stack", cuCtxSetCurrent(nullptr));

  push(a);
  push(b);
  elsewhere([&] {
    note("another thread has current", who(current()));
    say("it sets current B", cuCtxSetCurrent(b));
    note("it has current", who(current()));
  });
  note("the first thread has current", who(current()));
  say("set current A over [A, B]", cuCtxSetCurrent(a));
  static_cast<void>(pop());
  note("below it", who(current()));
  static_cast<void>(pop());

  CUcontext created = nullptr;
  push(a);
  say("a context that cannot be made: flags 3", cuCtxCreate(&created, nullptr, 3, 0));
  note("current", who(current()));
  say("a context that cannot be made: no such device", cuCtxCreate(&created, nullptr, 0, 99));
  note("current", who(current()));
  say("nowhere to put the context", cuCtxCreate(nullptr, nullptr, 0, 0));
  note("current", who(current()));
  static_cast<void>(pop());

  CUdevice device = -1;
  unsigned long long one = 0;
  unsigned long long other = 0;
  push(a);
  status = cuCtxGetId(nullptr, &one);
  say("id of the current context", status);
  status = cuCtxGetId(b, &other);
  say("id of B", status, one != other ? "another" : "the same");
  status = cuCtxGetId(a, &other);
  say("id of A by its handle", status, one == other ? "the same" : "another");
  status = cuCtxGetDevice(&device);
  say("device", status, text(device));
  static_cast<void>(pop());
}

}  // namespace transcript

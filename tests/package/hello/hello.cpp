// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <vector>

#include <flotilla/flotilla.hpp>

int main() {
  flotilla::runtime rt;
  for (flotilla::device const& each : rt.devices()) {
    flotilla::device_buffer<int> there{rt, each.ordinal, 100};
    std::vector<int> here(100);
    flotilla::ticket const filled = rt.submit(there.fill(7));
    rt.submit(there.copy_to(here), {.after = {filled}}).wait();
    std::printf("hello from device %u: %d\n", each.ordinal.value, here.back());
  }
}

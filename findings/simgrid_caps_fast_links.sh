#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# SimGrid 3.32 (Debian 12): a study compares networks of 100 and of 200 GB/s, both with a latency of
# 0.1 ms, and sends 1 GB over each, without other traffic.
#
# Guess:  10 ms and 5 ms, plus the latency, because the model is the bandwidth and the latency of the link.
# Seen:   50 ms for both. The default model has a TCP window of 4 MiB, so no link carries more than
#         4 MiB in twice its latency. With --cfg=network/TCP-gamma:0 it is 12 ms and 7 ms.
# So a simulation of InfiniBand or NVLink says that a faster network does not help.
. "$(dirname "$0")/lib.sh"
unpack_debian libsimgrid-dev=3.32-2+b2 libsimgrid3.32=3.32-2+b2 libns3.37=3.37-2 \
  libgsl27=2.7.1+dfsg-5+deb12u1 libgslcblas0=2.7.1+dfsg-5+deb12u1 libboost1.74-dev=1.74.0+ds1-21 \
  libboost-context1.74.0=1.74.0+ds1-21 libboost-stacktrace1.74.0=1.74.0+ds1-21
cat > main.cpp <<'CODE'
#include <cstdio>
#include <simgrid/s4u.hpp>
namespace s4u = simgrid::s4u;
int main(int count, char** arguments) {
  s4u::Engine engine(&count, arguments);
  s4u::NetZone* zone = s4u::create_full_zone("zone");
  s4u::Host* from = zone->create_host("from", 1e9);
  s4u::Host* to = zone->create_host("to", 1e9);
  const s4u::Link* link = zone->create_link("link", arguments[1])->set_latency("100us");
  zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(link)});
  zone->seal();
  s4u::Mailbox* box = s4u::Mailbox::by_name("box");
  int data = 0;
  s4u::Actor::create("sender", from, [&] { box->put(&data, 1'000'000'000); });
  s4u::Actor::create("receiver", to, [&] { box->get<int>(); });
  engine.run();
  std::printf("%.0f ms ", s4u::Engine::get_clock() * 1000);
}
CODE
libraries="root/usr/lib/$(gcc -print-multiarch)"
g++ -std=c++17 -O0 -Iroot/usr/include main.cpp -o check "$libraries/libsimgrid.so.3.32" \
  -Wl,--allow-shlib-undefined
export LD_LIBRARY_PATH="$libraries"
sent() { for link in 100GBps 200GBps; do ./check $link --log=root.thresh:error "$@" 2> log; done; }
expect "100 and 200 GB/s" "$(sent)" "50 ms 50 ms "
expect "100 and 200 GB/s, without the window" "$(sent --cfg=network/TCP-gamma:0)" "12 ms 7 ms "

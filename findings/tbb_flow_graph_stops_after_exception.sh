#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# oneTBB 2021.8 (Debian 12): a node of a flow graph throws an exception, which wait_for_all throws in the
# main thread. The program handles it, and gives new messages to the same graph.
#
# Guess:  wait_for_all has cleared the exception, so the graph works again, as a task_group does.
# Seen:   try_put accepts the messages, wait_for_all returns without an exception, is_cancelled and
#         exception_thrown are false, and the node runs for none of them. Only after reset it works.
# The node, of concurrency 1, still counts the call that has thrown. All later messages wait for its end.
. "$(dirname "$0")/lib.sh"
version=2021.8.0-2+deb12u1
unpack_debian libtbb-dev=$version libtbb12=$version
cat > check.cpp <<'CODE'
#include <tbb/flow_graph.h>
#include <atomic>
#include <cstdio>
#include <stdexcept>
int main() {
  std::atomic<int> runs = 0;
  tbb::flow::graph graph;
  tbb::flow::function_node<bool> node(graph, 1, [&](bool fails) {
    if (fails) { throw std::runtime_error("thrown"); }
    ++runs;
  });
  auto put = [&](bool fails) {
    runs = 0;
    int accepted = node.try_put(fails) + node.try_put(false);
    const char* end = "returned";
    try {
      graph.wait_for_all();
    } catch (const std::runtime_error& error) {
      end = error.what();
    }
    if (fails) { return; }
    std::printf("\n%d accepted, %s, %d flags, %d run", accepted, end,
                graph.is_cancelled() + graph.exception_thrown(), runs.load());
  };
  put(false);
  put(true);
  put(false);
  graph.reset();
  put(false);
}
CODE
multiarch=$(gcc -print-multiarch)
g++ -std=c++20 -Iroot/usr/include check.cpp -o check "root/usr/lib/$multiarch/libtbb.so.12" -pthread
expect "before an exception, after it, after reset" "$(LD_LIBRARY_PATH="root/usr/lib/$multiarch" ./check)" "
2 accepted, returned, 0 flags, 2 run
2 accepted, returned, 0 flags, 0 run
2 accepted, returned, 0 flags, 2 run"

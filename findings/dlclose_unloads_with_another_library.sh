#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# glibc 2.36 and gcc 12.2 (Debian 12): a plugin has a `thread_local` object with a destructor. A thread of
# the program uses it. The main thread then calls dlclose, which returns 0.
#
# Guess:  the plugin is unloaded by dlclose, or, because the thread still needs the destructor, at the end
#         of the thread.
# Seen:   neither. The plugin stays, although its last thread has ended, until a dlclose of any other
#         library. Only then the destructors of its global objects run.
# So files and devices of a closed plugin stay open, and a second dlopen gets the old code and state.
. "$(dirname "$0")/lib.sh"
cat > plugin.cpp <<'CODE'
#include <cstdio>
struct Global {
  ~Global() { std::printf(" unloaded"); }
} global;
struct Local {
  int value = 0;
  ~Local() { std::printf(" destroyed"); }
};
thread_local Local local;
extern "C" int use() { return ++local.value; }
CODE
cat > main.cpp <<'CODE'
#include <dlfcn.h>
#include <cstdio>
#include <semaphore>
#include <thread>
int main(int arguments, char**) {
  std::binary_semaphore used(0), end(0);
  void* plugin = dlopen("./plugin.so", RTLD_NOW);
  auto* use = reinterpret_cast<int (*)()>(dlsym(plugin, "use"));
  std::thread thread([&] {
    if (arguments == 1) { use(); }
    used.release();
    end.acquire();
  });
  used.acquire();
  dlclose(plugin);
  std::printf(" closed");
  end.release();
  thread.join();
  std::printf(" joined");
  dlclose(dlopen("./other.so", RTLD_NOW));
  std::printf(" other closed");
}
CODE
echo 'int other;' > other.c
gcc -shared -fPIC other.c -o other.so
g++ -shared -fPIC -fno-gnu-unique plugin.cpp -o plugin.so
g++ -std=c++20 main.cpp -o check -pthread
expect "if the thread does not use the object" "$(./check unused)" " unloaded closed joined other closed"
expect "if the thread uses the object" "$(./check)" " closed destroyed joined unloaded other closed"

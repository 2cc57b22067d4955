#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# gcc 12.2 (Debian 12): a program opens a plugin with dlopen. The plugin is compiled with -ffast-math, and
# its code is never called.
#
# Guess:  only the code of the plugin computes differently, or all code of the process.
# Seen:   numbers below 1.2e-38 become 0 in the thread that calls dlopen and in the threads that start
#         later, also in code without -ffast-math. Threads that exist already compute as before.
# So with a pool of threads, the result of a task depends on whether its thread is older than the plugin.
. "$(dirname "$0")/lib.sh"
cat > main.cpp <<'CODE'
#include <dlfcn.h>
#include <cstdio>
#include <semaphore>
#include <thread>
void show(const char* name) {
  volatile float small = 1e-39f;
  std::printf("%s %s, ", name, small * 0.5f == 0 ? "0" : "exact");
}
int main() {
  std::binary_semaphore opened(0);
  std::thread older([&] {
    opened.acquire();
    show("older");
  });
  show("before");
  dlopen("./plugin.so", RTLD_NOW);
  show("opener");
  opened.release();
  older.join();
  std::thread([] { show("newer"); }).join();
}
CODE
echo 'int nothing;' > plugin.c
gcc -shared -fPIC -ffast-math plugin.c -o plugin.so
g++ -std=c++20 main.cpp -o check -pthread
expect "half of 1e-39" "$(./check)" "before exact, opener 0, older exact, newer 0, "

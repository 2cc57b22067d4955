#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# g++ 12.2 with glibc 2.36 (Debian 12): two plugins include a header with
# `inline int counter = 0;`. A program opens both with dlopen and RTLD_LOCAL, and each adds 1 to it.
#
# Guess:  each plugin has its own counter, because RTLD_LOCAL hides its symbols from others.
# Seen:   the plugins share one counter, and dlclose does not unload them, because g++ marks such variables
#         as unique in the process. With -fno-gnu-unique each has its own, and dlclose unloads them.
# So plugins that know nothing of each other share the caches and registries of a common header.
. "$(dirname "$0")/lib.sh"
cat > plugin.cpp <<'CODE'
inline int counter = 0;
extern "C" int next() { return ++counter; }
CODE
cat > main.cpp <<'CODE'
#include <dlfcn.h>
#include <cstdio>
#include <initializer_list>
int main() {
  void* one = dlopen("./one.so", RTLD_NOW | RTLD_LOCAL);
  void* two = dlopen("./two.so", RTLD_NOW | RTLD_LOCAL);
  for (void* plugin : {one, two}) {
    std::printf("%d ", reinterpret_cast<int (*)()>(dlsym(plugin, "next"))());
  }
  dlclose(two);
  dlclose(one);
  std::printf("%s", dlopen("./one.so", RTLD_NOW | RTLD_NOLOAD) ? "stays" : "unloaded");
}
CODE
g++ main.cpp -o check
counted() {
  "$@" -std=c++17 -shared -fPIC plugin.cpp -o one.so
  cp one.so two.so
  ./check
}
expect "g++" "$(counted g++)" "1 2 stays"
expect "g++ -fno-gnu-unique" "$(counted g++ -fno-gnu-unique)" "1 1 unloaded"

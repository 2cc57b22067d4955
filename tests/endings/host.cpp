// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A program without flotilla. Loads a plug-in, calls one of its functions, and unloads it.
//
//   endings_host PLUGIN FUNCTION main|thread close|keep

#include <dlfcn.h>

#include <cstdio>
#include <string_view>
#include <thread>

int main(int count, char** arguments) {
  if (count != 5) { return 2; }
  void* const plugin = ::dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  void* const found = plugin == nullptr ? nullptr : ::dlsym(plugin, arguments[2]);
  if (found == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 2;
  }
  auto const function = reinterpret_cast<void (*)()>(found);
  if (std::string_view{arguments[3]} == "thread") {
    std::thread{function}.join();
  } else {
    function();
  }
  if (std::string_view{arguments[4]} == "close") { ::dlclose(plugin); }
  return 7;
}

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A program that is built without CMake. It runs a callable on every device.

#include <atomic>
#include <iostream>

#include <flotilla/flotilla.hpp>

int main() {
  flotilla::runtime runtime;
  std::atomic<int> ran{0};
  for (flotilla::device const& device : runtime.devices()) {
    runtime.submit([&ran](flotilla::task_context&) { ++ran; }, {.device = device}).wait();
  }
  std::cout << ran << " devices, flotilla " FLOTILLA_VERSION "\n";
  return ran == static_cast<int>(runtime.devices().size()) && ran > 0 ? 0 : 1;
}

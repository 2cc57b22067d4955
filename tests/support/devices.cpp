// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "support/devices.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "driver/library.hpp"

namespace flotilla::test {

bool on_gpus() {
  char const* const text = std::getenv("FLOTILLA_TEST_DEVICES");
  std::string_view const wanted = text == nullptr ? "cpu" : text;
  // If a misspelt value were ignored, a test that was meant for GPUs would run on CPU devices.
  if (wanted != "cpu" && wanted != "cuda") {
    throw std::runtime_error{
        "the environment variable FLOTILLA_TEST_DEVICES must be cpu or cuda, but is '" +
        std::string{wanted} + "'"};
  }
  return wanted == "cuda";
}

int devices_there() {
  constexpr int max_cpu_devices = 64;
  return on_gpus() ? driver::gpu_driver().devices : max_cpu_devices;
}

std::string device_spec(int count) {
  if (!on_gpus()) { return "cpu:" + std::to_string(count); }
  std::string spec = "cuda:0";
  for (int i = 1; i < count; ++i) { spec += "," + std::to_string(i); }
  return spec;
}

}  // namespace flotilla::test

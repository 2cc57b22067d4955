#include "support/devices.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "driver/library.hpp"

namespace flotilla::test {

bool on_gpus() {
  char const* const text = std::getenv("FLOTILLA_TEST_DEVICES");
  std::string_view const wanted = text == nullptr ? "cpu" : text;
  // A misspelt word must not turn a test on GPUs into one on CPU devices.
  if (wanted != "cpu" && wanted != "cuda") {
    throw std::runtime_error{"FLOTILLA_TEST_DEVICES is neither cpu nor cuda: " +
                             std::string{wanted}};
  }
  return wanted == "cuda";
}

int devices_there() {
  constexpr int as_many_as_wanted = 64;
  return on_gpus() ? driver::gpu_driver().devices : as_many_as_wanted;
}

std::string device_spec(int count) {
  if (!on_gpus()) { return "cpu:" + std::to_string(count); }
  std::string spec = "cuda:0";
  for (int i = 1; i < count; ++i) { spec += "," + std::to_string(i); }
  return spec;
}

}  // namespace flotilla::test

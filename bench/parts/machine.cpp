#include "machine.hpp"

#include <algorithm>
#include <thread>

namespace flotilla::bench {

context::choice const& machine() {
  static context::choice const chosen = context::choose("");
  return chosen;
}

std::string first_devices(int count) {
  context::choice const& all = machine();
  if (all.api->kind == device_kind::cpu) { return "cpu:" + std::to_string(count); }
  std::string named = "cuda:";
  for (int i = 0; i < count; ++i) {
    if (i != 0) { named += ','; }
    named += std::to_string(all.devices[static_cast<std::size_t>(i)].driver_ordinal);
  }
  return named;
}

int workers_for(int devices) {
  int const cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, std::min(devices, cores - 1));
}

bool enough_devices(benchmark::State& state, int wanted) {
  int const there = static_cast<int>(machine().devices.size());
  if (there >= wanted) { return true; }
  std::string const why = "needs " + std::to_string(wanted) + " devices, there are " +
                          std::to_string(there) + ": see FLOTILLA_DEVICES";
  state.SkipWithError(why.c_str());
  return false;
}

}  // namespace flotilla::bench

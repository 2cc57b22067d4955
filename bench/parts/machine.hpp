#pragma once
// The devices that rows run on: those of the environment's FLOTILLA_DEVICES, else those of `auto`.

#include <benchmark/benchmark.h>

#include <string>

#include "context/description.hpp"

namespace flotilla::bench {

/// All of them, chosen once a process. @throws no_device, unknown_device
[[nodiscard]] context::choice const& machine();

/// The first `count` of them, as runtime_options::devices takes them.
[[nodiscard]] std::string first_devices(int count);

/// How many workers rows use that name no count: a device each, but a core is left to the producer.
/// It is what a runtime chooses by itself; said here so that it can be reported.
[[nodiscard]] int workers_for(int devices);

/// Whether there are `wanted` devices. If not, the row reports that, and must return.
[[nodiscard]] bool enough_devices(benchmark::State& state, int wanted);

}  // namespace flotilla::bench

#pragma once
// Control of the CPU driver that `cpu_driver()` gives, for flotilla's own layers: only src/driver
// knows the CPU driver itself.

#include <string_view>

namespace flotilla::driver {

/// From now on the CPU driver has at least `count` devices, but at most 64. Threads: any.
void ensure_cpu_devices(int count);

/// Adds fault injections, in the language of FLOTILLA_CPU_INJECT: all of them or none. Starts the
/// CPU driver first, whose environment must not override them. Throws invalid_argument, which says
/// which part is wrong. Threads: any.
void inject(std::string_view spec);
/// Removes every fault injection. Threads: any.
void clear_injection();

}  // namespace flotilla::driver

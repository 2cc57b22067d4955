// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that control the CPU driver that `cpu_driver()` returns. Other parts of the library use
// these functions, because only src/driver may include headers of the CPU driver.

#include <string_view>

namespace flotilla::driver {

/// Increases the number of CPU devices to `count` if there are fewer. The maximum is 64.
/// Threads: any.
void ensure_cpu_devices(int count);

/// Adds the faults in `spec`, which has the form of FLOTILLA_CPU_INJECT. The function first starts
/// the CPU driver, because the start applies FLOTILLA_CPU_INJECT. If the driver started later,
/// FLOTILLA_CPU_INJECT would override `spec`.
/// @throws invalid_argument  A part of `spec` is invalid. The message has that part. Nothing was
///                           added.
/// Threads: any.
void inject(std::string_view spec);
/// Removes every fault injection. Threads: any.
void clear_injection();
/// From now on, passes each fault that `inject` adds to `to` as well, and an empty text when all
/// faults are removed. For drivers in other processes. Threads: any.
void forward_injection(void (*to)(std::string_view spec));

}  // namespace flotilla::driver

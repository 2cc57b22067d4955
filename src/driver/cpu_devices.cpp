// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "driver/cpu_devices.hpp"

#include <array>
#include <string>

#include <flotilla/error/error.hpp>

#include "cpu_driver/api/control.hpp"
#include "driver/library.hpp"

namespace flotilla::driver {

void ensure_cpu_devices(int count) { cpu_control().ensure_devices(count); }

void inject(std::string_view spec) {
  static_cast<void>(cpu_driver());
  std::string const text{spec};
  std::array<char, 512> reason{};
  if (cpu_control().inject(text.c_str(), reason.data(), reason.size()) != 0) {
    throw invalid_argument(reason.data());
  }
}

void clear_injection() {
  static_cast<void>(cpu_driver());
  cpu_control().clear_injection();
}

}  // namespace flotilla::driver

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "driver/cpu_devices.hpp"

#include <array>
#include <atomic>
#include <string>

#include <flotilla/error/error.hpp>

#include "cpu_driver/api/control.hpp"
#include "driver/library.hpp"

namespace flotilla::driver {

namespace {
std::atomic<void (*)(std::string_view)> also_to{nullptr};

void pass_on(std::string_view spec) {
  if (auto* const to = also_to.load(); to != nullptr) { to(spec); }
}
}  // namespace

void forward_injection(void (*to)(std::string_view spec)) { also_to.store(to); }

void ensure_cpu_devices(int count) { cpu_control().ensure_devices(count); }

void inject(std::string_view spec) {
  static_cast<void>(cpu_driver());
  std::string const text{spec};
  std::array<char, 512> reason{};
  if (cpu_control().inject(text.c_str(), reason.data(), reason.size()) != 0) {
    throw invalid_argument(reason.data());
  }
  pass_on(spec);
}

void clear_injection() {
  static_cast<void>(cpu_driver());
  cpu_control().clear_injection();
  pass_on({});
}

}  // namespace flotilla::driver

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A finding of `flotilla doctor`: one line of its report.

#include <string>
#include <vector>

#include <flotilla/device/driver_report.hpp>
#include <flotilla/kernel/compiler_report.hpp>

namespace tool {

struct finding {
  enum class grades { ok, note, warning, broken };
  grades grade = grades::ok;
  std::string about;   ///< the subject, for example "driver" or "device 0: context"
  std::string text;    ///< what was found
  std::string advice;  ///< what the user should do; empty if nothing
};
using findings = std::vector<finding>;

[[nodiscard]] char const* to_string(finding::grades grade) noexcept;

/// Examines the settings in environment variables.
void examine_settings(findings& into);
/// Examines the drivers. If one is missing, the finding says why.
void examine_drivers(findings& into, flotilla::driver_report const& drivers);
/// Examines each device of the driver in use (compute mode, NUMA node, cost of a context) and the
/// links between devices.
/// @param gpus  True: the driver in use is the GPU driver. False: it is the CPU driver.
void examine_devices(findings& into, bool gpus);
/// Examines the compilers and the cache of flotilla::compile.
/// @param gpus  Whether there are GPUs, which need NVRTC.
void examine_compilers(findings& into, flotilla::compiler_report const& report, bool gpus);
/// Examines whether a runtime starts on these devices and which settings were not granted.
void examine_runtime(findings& into, std::string const& specification);

}  // namespace tool

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

#include <flotilla/context/context_driver.hpp>
#include <flotilla/device/driver_report.hpp>
#include <flotilla/settings/settings.hpp>

#include "finding.hpp"

namespace tool {
namespace {

namespace fs = std::filesystem;
using grades = finding::grades;

/// Whether the PCI bus has an NVIDIA GPU, with or without a driver.
bool has_nvidia_gpu() {
  std::error_code none;
  for (auto const& each : fs::directory_iterator{"/sys/bus/pci/devices", none}) {
    std::string vendor, kind;
    std::ifstream{each.path() / "vendor"} >> vendor;
    std::ifstream{each.path() / "class"} >> kind;
    if (vendor == "0x10de" && kind.starts_with("0x03")) {
      return true;
    }  // class 0x03: a display or 3D controller
  }
  return false;
}

std::string from_environment(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

void examine_settings(findings& into) {
  finding of_settings{grades::ok, "settings", "", ""};
  std::string const file = from_environment("FLOTILLA_CONFIG");
  std::string const text = from_environment("FLOTILLA_SETTINGS");
  try {
    static_cast<void>(flotilla::settings::from_environment());
    of_settings.text = file.empty() && text.empty()
                           ? "none in the environment"
                           : (file.empty() ? "" : "file " + file + " ") +
                                 (text.empty() ? "" : "FLOTILLA_SETTINGS=" + text);
  } catch (std::exception const& wrong) {
    of_settings = {grades::broken, "settings", wrong.what(),
                   "correct the settings; docs/settings.md lists all names and values"};
  }
  into.push_back(std::move(of_settings));
}

void examine_drivers(findings& into, flotilla::driver_report const& drivers) {
  finding gpu{grades::ok, "GPU driver", drivers.gpu_text, ""};
  if (!drivers.gpus) {
    std::string const chosen = from_environment("FLOTILLA_LIBCUDA");
    bool const stub = drivers.gpu_text.find("stub") != std::string::npos;
    bool const silent = drivers.gpu_text.starts_with("no driver: ") && !stub;
    if (stub) {
      gpu.grade = grades::broken;
      gpu.advice =
          "remove the toolkit's stubs folder from LD_LIBRARY_PATH and run paths, and install the "
          "driver's package";
    } else if (!chosen.empty()) {
      gpu.grade = grades::broken;
      gpu.advice = "FLOTILLA_LIBCUDA is " + chosen + ": correct or unset this variable";
    } else if (has_nvidia_gpu()) {
      gpu.grade = grades::broken;
      gpu.advice =
          "the machine has an NVIDIA GPU: install its driver, or give this container access to the "
          "GPU";
    } else if (!silent) {
      gpu.grade = grades::broken;
      gpu.advice =
          "run nvidia-smi for details; reboot if the kernel module and the driver library have "
          "different versions";
    } else {
      gpu.grade = grades::note;
      gpu.advice = "the machine has no NVIDIA GPU, so CPU devices are used";
    }
  }
  into.push_back(std::move(gpu));
  into.push_back({grades::ok, "CPU driver", drivers.cpu_text, ""});
  if (std::string const visible = from_environment("CUDA_VISIBLE_DEVICES"); !visible.empty()) {
    into.push_back({grades::note, "CUDA_VISIBLE_DEVICES", visible,
                    "only these GPUs are visible; their ordinals start from 0"});
  }
}

}  // namespace tool

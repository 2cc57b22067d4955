// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "driver/library.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include <flotilla/error/driver_status.hpp>
#include <flotilla/error/error.hpp>

#include "base/fork_guard.hpp"
#include "base/process_end.hpp"
#include "cpu_driver/api/control.hpp"
#include "cpu_driver/api/resolver.hpp"
#include "driver/check.hpp"
#include "driver/driver_log.hpp"

namespace flotilla::driver {

namespace {

using control = cpu_driver::flotilla_cpu_driver_control;

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// The libcuda that this process uses.
struct system_library {
  std::string path;
  void* handle = nullptr;
  std::string why_not;              // the message of dlopen if `handle` is null
  control const* dropin = nullptr;  // not null if the file is flotilla's own CPU driver
};

system_library const& find_system_library() {
  static system_library const found = [] {
    system_library made;
    char const* const named = std::getenv("FLOTILLA_LIBCUDA");
    made.path = named != nullptr && *named != '\0' ? named : "libcuda.so.1";
    made.handle = ::dlopen(made.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (made.handle == nullptr) {
      char const* const said = ::dlerror();
      made.why_not = said != nullptr ? said : "dlopen failed";
      return made;
    }
    // Only flotilla's drop-in exports this symbol.
    using marker = control const* (*)();
    if (auto const ask = reinterpret_cast<marker>(::dlsym(made.handle, "flotilla_cpu_driver"))) {
      made.dropin = ask();
    }
    return made;
  }();
  return found;
}

resolver of_library(void* handle) {
  auto const ask =
      reinterpret_cast<PFN_cuGetProcAddress_v12000>(::dlsym(handle, "cuGetProcAddress_v2"));
  return [handle, ask](char const* name, int version, char const* symbol) -> void* {
    void* entry = nullptr;
    CUdriverProcAddressQueryResult found{};
    if (ask != nullptr &&
        ask(name, &entry, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found) == CUDA_SUCCESS &&
        entry != nullptr) {
      return entry;
    }
    return ::dlsym(handle, symbol);
  };
}

opened open_gpu_driver() {
  system_library const& library = find_system_library();
  opened made;
  if (library.handle == nullptr) {
    made.text = "no driver: " + library.why_not;
    return made;
  }
  if (library.dropin != nullptr) {
    made.text = "no GPU driver: " + library.path + " is the drop-in of flotilla's CPU driver";
    return made;
  }
  auto const init = reinterpret_cast<PFN_cuInit_v2000>(::dlsym(library.handle, "cuInit"));
  if (init == nullptr) {
    made.text = "no driver: " + library.path + " does not export cuInit";
    return made;
  }
  // Call cuInit before any other entry point: its result tells whether the library is the toolkit's
  // stub. The stub exports every entry point, but each of them returns CUDA_ERROR_STUB_LIBRARY.
  CUresult const started = init(0);
  if (started == CUDA_ERROR_STUB_LIBRARY) {
    made.text = "no driver: " + library.path +
                " is the toolkit's stub, which is only for linking; install NVIDIA's driver";
    return made;
  }
  if (started == CUDA_ERROR_NO_DEVICE) {
    made.text = "the driver " + library.path + " has no device that this process may use";
    return made;
  }
  if (started != CUDA_SUCCESS) {
    made.text = "the driver " + library.path + " does not start: cuInit returned " +
                to_string(status_of(started));
    return made;
  }
  try {
    auto api =
        std::make_shared<table>(load(of_library(library.handle), device_kind::gpu, library.path));
    int version = 0;
    check(api->driver_get_version(&version), "cuDriverGetVersion", library.path);
    check(api->device_get_count(&made.devices), "cuDeviceGetCount", library.path);
    made.text = "CUDA " + version_text(version) + " from " + library.path;
    if (made.devices == 0) {
      made.text += ", but no device";
      return made;
    }
    use_log_of(of_library(library.handle));
    made.api = std::move(api);
  } catch (error const& why) { made.text = std::string{"no usable driver: "} + why.what(); }
  return made;
}

/// Calls cuInit of the CPU driver.
/// @throws invalid_argument  An environment variable has an invalid value. The text names both.
void start_cpu_driver(table const& api, control const& driver) {
  CUresult const status = api.init(0);
  std::array<char, 512> reason{};
  if (status != CUDA_SUCCESS && driver.version >= 2) {
    driver.start_error(reason.data(), reason.size());
  }
  if (reason[0] != '\0') {
    throw invalid_argument(std::string{"the CPU driver does not start: "} + reason.data());
  }
  check(status, "cuInit", "the CPU driver");
}

opened open_cpu_driver() {
  system_library const& library = find_system_library();
  opened made;
  bool const dropin = library.dropin != nullptr;
  auto api = std::make_shared<table>(
      dropin ? load(of_library(library.handle), device_kind::cpu, library.path)
             : load([](char const* name, int version,
                       char const*) { return cpu_driver::resolve(name, version); },
                    device_kind::cpu, "built in"));
  start_cpu_driver(*api, cpu_control());
  check(api->device_get_count(&made.devices), "cuDeviceGetCount", "the CPU driver");
  made.api = std::move(api);
  made.text = dropin ? "CPU devices of the drop-in " + library.path : "CPU devices, built in";
  return made;
}

/// A driver, and the process that initialised it.
class opened_once {
 public:
  explicit opened_once(opened (*open)()) : driver_(open()) { base::watch_process_end(); }

  [[nodiscard]] opened const& in_this_process() const {
    if (driver_.api != nullptr && generation_ != base::fork_generation()) {
      throw used_after_fork(
          "this process is a child of fork(), and its parent has initialised the CUDA driver, "
          "which does not work in such a child: fork before the first runtime, or start another "
          "program");
    }
    return driver_;
  }

 private:
  opened const driver_;
  std::uint32_t const generation_ = base::fork_generation();
};

}  // namespace

opened const& gpu_driver() {
  static opened_once const made{&open_gpu_driver};
  return made.in_this_process();
}

opened const& cpu_driver() {
  static opened_once const made{&open_cpu_driver};
  return made.in_this_process();
}

cpu_driver::flotilla_cpu_driver_control const& cpu_control() {
  control const* const dropin = find_system_library().dropin;
  return dropin != nullptr ? *dropin : cpu_driver::control();
}

}  // namespace flotilla::driver

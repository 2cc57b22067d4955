// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads the library of a program with the driver of each device.

#include <cuda.h>

#include <string>
#include <vector>

#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/waiting/control.hpp"

namespace flotilla::dispatch {

/// A library belongs to a driver, not to a device. A runtime of which only some devices are
/// isolated has two drivers, and each of them has the library. All other runtimes have one driver.
///
/// Lists of libraries have one element for each device. For a quarantined device it may be null.
/// Threads: any.
class program_libraries {
 public:
  program_libraries(device_set const& devices, control const& operations) noexcept
      : devices_(devices), operations_(operations) {}

  [[nodiscard]] driver::table const& api_of(unsigned device) const;
  /// Loads `code`, or the file if `code` is null.
  /// @param libraries  Gets the libraries. If the call throws, it has those that were loaded.
  /// @throws driver_error, and the exceptions of control::run
  void open(std::string const& name, void const* code, std::string const& file,
            std::vector<CUlibrary>& libraries) const;
  /// Loads all kernels of a program for all devices, and describes them.
  /// @param name  Of the program, for messages.
  /// @throws driver_error, and the exceptions of control::run
  [[nodiscard]] std::vector<kernel_entry> load_kernels(std::string const& name,
                                                       std::vector<CUlibrary> const& of,
                                                       bool use_twins) const;
  /// Unloads the libraries. Needs no context. @return the first status that is an error.
  /// @param name  The name of the program, for the message if the driver refuses.
  CUresult unload(std::string const& name, std::vector<CUlibrary> const& libraries) const noexcept;

 private:
  /// Returns the first device that has the same driver and is not quarantined, or `device` if there
  /// is none before it.
  [[nodiscard]] unsigned first_like(unsigned device) const;
  [[nodiscard]] CUlibrary open_on(unsigned device, std::string const& name, void const* code,
                                  std::string const& file) const;

  device_set const& devices_;
  control const& operations_;
};

}  // namespace flotilla::dispatch

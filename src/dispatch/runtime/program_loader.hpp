// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads programs on every device, and finds kernels and variables in them.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/kernel/kernel.hpp>
#include <flotilla/settings/settings.hpp>

#include "dispatch/fault/usage_guard.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/runtime/program_libraries.hpp"
#include "dispatch/waiting/control.hpp"

namespace flotilla::dispatch {

/// By the name of a kernel in the code: the names that the program uses instead.
using kernel_aliases = std::map<std::string, std::vector<std::string>>;

/// A kernel has one handle for all contexts of a driver (program_libraries). The loader loads each
/// kernel into all contexts immediately. Otherwise the driver would load it at its first launch,
/// which would stall the device.
/// Threads: any.
class program_loader {
 public:
  struct parts {
    runtime_parts const& shared;
    kernel_table& kernels;
    device_kind kind;  // of all devices
    device_set const& devices;
    usage_guard const& usage;
    control const& operations;
    bool use_twins;  // runtime_options::fuse_launches
  };
  explicit program_loader(parts const& with) noexcept
      : parts_(with), libraries_(with.devices, with.operations) {}

  /// Loads `code`, or the file if `code` is null. @return the index of the program.
  /// @throws bad_image, driver_error, and the exceptions of usage_guard::check_usable
  [[nodiscard]] std::uint32_t load(std::string const& name, void const* code,
                                   std::string const& file) const;
  /// Adds a program without code, for CPU devices. @return the index of the program.
  /// @param kernels  The names of the image's kernels, which are only for GPUs.
  [[nodiscard]] std::uint32_t load_gpu_only(std::string const& name,
                                            std::vector<std::string> kernels) const;
  /// Renames kernels of a program that was just loaded. No other thread may know the program yet.
  void rename(std::uint32_t program, kernel_aliases const& aliases) const;
  /// Finds a kernel and checks that its parameters match `layout`. @return the index of the kernel.
  /// @throws unknown_symbol, gpu_only_kernel, invalid_argument
  [[nodiscard]] std::uint32_t find_kernel(std::uint32_t program, std::string_view name,
                                          std::span<detail::parameter_layout const> layout) const;
  /// The same for a kernel whose parameters are not known.
  [[nodiscard]] std::uint32_t find_kernel(std::uint32_t program, std::string_view name) const;
  /// Adds a kernel of the application, and checks that its parameters match `layout`. @return the
  /// index of the kernel.
  /// @throws invalid_argument, driver_error, and the exceptions of usage_guard::check_usable
  [[nodiscard]] std::uint32_t adopt(CUkernel handle,
                                    std::span<detail::parameter_layout const> layout) const;
  [[nodiscard]] std::vector<std::string> kernel_names(std::uint32_t program) const;
  [[nodiscard]] kernel_entry const& kernel(std::uint32_t index) const {
    return parts_.kernels.kernels[index];
  }
  /// Describes the kernel for a message, for example "kernel 'saxpy'".
  [[nodiscard]] std::string describe_kernel(std::uint32_t kernel) const {
    return "kernel '" + parts_.kernels.kernels[kernel].name + "'";
  }
  void prefer_cache(std::uint32_t program, unsigned device, std::string_view kernel,
                    cache_preference preference) const;
  /// Copies between `bytes` and the start of a variable on one device.
  /// @param write  True: copies to the variable. False: copies from the variable.
  void copy_global(std::uint32_t program, unsigned device, std::string_view name,
                   std::span<std::byte> bytes, bool write) const;
  /// Unloads all programs. Call this after all graphs that use kernels of these programs were
  /// destroyed. Needs no context.
  void unload_all() const noexcept;

 private:
  [[nodiscard]] std::uint32_t add(std::string const& name, std::vector<CUlibrary> const& of) const;
  [[nodiscard]] std::uint32_t index_of(program_entry const& program, std::string_view name) const;

  parts const parts_;
  program_libraries const libraries_;
};

}  // namespace flotilla::dispatch

#pragma once
// Loads programs on every device, and finds kernels and variables in them.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/kernel/kernel.hpp>
#include <flotilla/settings/settings.hpp>

#include "dispatch/fault/usage_guard.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/waiting/control.hpp"

namespace flotilla::dispatch {

/// A kernel has one handle for all contexts. Every context loads it at once, because loading it
/// lazily would stall a device while it is driven. Threads: any.
class program_loader {
 public:
  struct parts {
    runtime_parts const& shared;
    kernel_table& kernels;
    driver::table const& api;
    device_set const& devices;
    usage_guard const& usage;
    control const& operations;
  };
  explicit program_loader(parts const& with) noexcept : parts_(with) {}

  /// Loads `code`; if that is null, the file. @return the program's index.
  /// @throws bad_image, driver_error, and as usage_guard::check_usable
  [[nodiscard]] std::uint32_t load(std::string const& name, void const* code,
                                   std::string const& file) const;
  /// @return the kernel's index. @throws unknown_symbol, invalid_argument
  [[nodiscard]] std::uint32_t find_kernel(std::uint32_t program, std::string_view name,
                                          std::span<detail::parameter_layout const> layout) const;
  [[nodiscard]] std::vector<std::string> kernel_names(std::uint32_t program) const;
  /// The kernel in words, like "kernel 'saxpy'".
  [[nodiscard]] std::string describe_kernel(std::uint32_t kernel) const {
    return "kernel '" + parts_.kernels.kernels[kernel].name + "'";
  }
  void prefer_cache(std::uint32_t program, unsigned device, std::string_view kernel,
                    cache_preference preference) const;
  /// Copies `bytes` to or from the start of a variable, as one device has it.
  void copy_global(std::uint32_t program, unsigned device, std::string_view name,
                   std::span<std::byte> bytes, bool write) const;
  /// Call it after the graphs that hold the programs' functions are gone. Needs no context.
  void unload_all() const noexcept;

 private:
  [[nodiscard]] CUlibrary open(std::string const& name, void const* code,
                               std::string const& file) const;
  [[nodiscard]] std::uint32_t add(std::string const& name, CUlibrary library) const;
  [[nodiscard]] std::uint32_t index_of(program_entry const& program, std::string_view name) const;

  parts const parts_;
};

}  // namespace flotilla::dispatch

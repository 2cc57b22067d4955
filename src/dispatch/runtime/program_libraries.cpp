// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/program_libraries.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "dispatch/runtime/kernel_description.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

using driver::check;

/// Loads the library into the current context. A driver may accept invalid bytes as a library, and
/// report the error only when the library is loaded into a context.
void load_in_current_context(driver::table const& api, CUlibrary library, std::string const& name) {
  CUmodule module = nullptr;
  check(api.library_get_module(&module, library), "cuLibraryGetModule", name);
}

}  // namespace

driver::table const& program_libraries::api_of(unsigned device) const {
  return devices_[device].context().api();
}

unsigned program_libraries::first_like(unsigned device) const {
  unsigned first = 0;
  while (first < device && (!operations_.is_usable(first) || &api_of(first) != &api_of(device))) {
    ++first;
  }
  return first;
}

void program_libraries::open(std::string const& name, void const* code, std::string const& file,
                             std::vector<CUlibrary>& libraries) const {
  for (unsigned device = 0; device < devices_.size(); ++device) {
    unsigned const first = first_like(device);
    bool const is_usable = operations_.is_usable(device);
    libraries.push_back(first < device ? libraries[first]
                        : is_usable    ? open_on(device, name, code, file)
                                       : nullptr);
  }
}

CUlibrary program_libraries::open_on(unsigned device, std::string const& name, void const* code,
                                     std::string const& file) const {
  CUlibrary library = nullptr;
  driver::table const& api = api_of(device);
  operations_.run(device, [&](device_driver&) {
    if (code != nullptr) {
      check(api.library_load_data(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0),
            "cuLibraryLoadData", name);
    } else {
      // Pass the path to the driver, not the contents of the file. The driver does not know the
      // size of contents in memory, so it would read past the end of a truncated file.
      check(api.library_load_from_file(&library, file.c_str(), nullptr, nullptr, 0, nullptr,
                                       nullptr, 0),
            "cuLibraryLoadFromFile", name);
    }
  });
  return library;
}

CUresult program_libraries::unload(std::string const& name,
                                   std::vector<CUlibrary> const& libraries) const noexcept {
  CUresult found = CUDA_SUCCESS;
  for (unsigned device = 0; device < libraries.size(); ++device) {
    auto const here = libraries.begin() + device;
    // Devices with the same driver have the same library. A quarantined device may have none.
    if (*here == nullptr || std::find(libraries.begin(), here, *here) != here) { continue; }
    CUresult const answer = api_of(device).library_unload(libraries[device]);
    // After a fault, every call fails, and at the exit of the process the driver may be gone.
    if (answer != CUDA_SUCCESS && answer != CUDA_ERROR_DEINITIALIZED &&
        !is_sticky(driver::status_of(answer))) {
      base::log_format(log_level::error, "cuLibraryUnload failed on %s with CUresult %d",
                       name.c_str(), static_cast<int>(answer));
    }
    if (found == CUDA_SUCCESS) { found = answer; }
  }
  return found;
}

std::vector<kernel_entry> program_libraries::load_kernels(std::string const& name,
                                                          std::vector<CUlibrary> const& of,
                                                          bool use_twins) const {
  // By device. The kernels of all libraries are the same, in the same order.
  std::vector<std::vector<loaded_kernel>> loaded(devices_.size());
  std::vector<kernel_entry> entries;
  for (unsigned device = 0; device < devices_.size(); ++device) {
    if (!operations_.is_usable(device)) { continue; }  // its functions stay null
    driver::table const& api = api_of(device);
    operations_.run(device, [&](device_driver& driver) {
      auto const subject = [&] { return name + ", " + driver.context().subject(); };
      load_in_current_context(api, of[device], name);
      unsigned const first = first_like(device);
      loaded[device] =
          first < device ? loaded[first] : kernels_of(api, of[device], name, use_twins);
      entries.resize(loaded[device].size());
      auto const load = [&](CUkernel handle, std::vector<CUfunction>& functions) {
        if (handle == nullptr) { return; }
        functions.resize(devices_.size());
        CUfunction& function = functions[device];
        check(api.kernel_get_function(&function, handle), "cuKernelGetFunction", subject);
        check(api.func_load(function), "cuFuncLoad", subject);
      };
      for (std::size_t i = 0; i < entries.size(); ++i) {
        loaded_kernel const& each = loaded[device].at(i);
        load(each.handle, entries[i].functions);
        load(each.twin, entries[i].twin.functions);
        load(each.ordered, entries[i].twin.ordered);
      }
    });
  }
  // The CUDA driver describes parameters only while a context is current.
  unsigned const any = operations_.usable_instead_of(0);
  operations_.run(any, [&](device_driver&) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      kernel_entry described = query_kernel(api_of(any), loaded[any].at(i).handle, name);
      described.functions = std::move(entries[i].functions);
      described.twin.functions = std::move(entries[i].twin.functions);
      described.twin.ordered = std::move(entries[i].twin.ordered);
      complete(api_of(any), described, any);
      entries[i] = std::move(described);
    }
  });
  return entries;
}

}  // namespace flotilla::dispatch

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/program_loader.hpp"

#include <algorithm>
#include <utility>

#include <flotilla/error/error.hpp>

#include "dispatch/runtime/image_file.hpp"
#include "dispatch/runtime/kernel_description.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

using driver::check;

bool is_about_the_image(CUresult answer) {
  switch (answer) {
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_FILE_NOT_FOUND:
    case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
    case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_INVALID_VALUE:
    // An H200's driver (580) sometimes answers so for a damaged file.
    case CUDA_ERROR_UNKNOWN: return true;
    default: return false;
  }
}

}  // namespace

std::uint32_t program_loader::load_gpu_only(std::string const& name,
                                            std::vector<std::string> kernels) const {
  parts_.usage.check_usable();
  return static_cast<std::uint32_t>(parts_.kernels.programs.add([&](program_entry& entry) {
    entry.name = name;
    entry.gpu_only = std::move(kernels);
  }));
}

std::uint32_t program_loader::load(std::string const& name, void const* code,
                                   std::string const& file) const {
  parts_.usage.check_usable();
  if (code == nullptr && file.empty()) {
    throw bad_image(name + " holds no code for " +
                    (parts_.kind == device_kind::gpu ? "GPUs" : "CPU devices"));
  }
  std::vector<CUlibrary> libraries;
  if (!file.empty() && why_no_code_for(parts_.kind, file).empty()) {
    std::string const why = why_truncated(file);
    if (!why.empty()) { throw bad_image(name + ": " + why); }
  }
  try {
    libraries_.open(name, code, file, libraries);
    return add(name, libraries);
  } catch (driver_error const& why) {
    static_cast<void>(libraries_.unload(name, libraries));
    if (is_about_the_image(static_cast<CUresult>(why.status()))) {
      throw bad_image(why.what() + (file.empty() ? "" : why_no_code_for(parts_.kind, file)));
    }
    throw;
  } catch (...) {
    static_cast<void>(libraries_.unload(name, libraries));
    throw;
  }
}

std::uint32_t program_loader::add(std::string const& name, std::vector<CUlibrary> const& of) const {
  std::map<std::string, std::uint32_t, std::less<>> kernels;
  for (kernel_entry& found : libraries_.load_kernels(name, of, parts_.use_twins)) {
    std::string kernel = found.name;
    std::size_t const index =
        parts_.kernels.kernels.add([&](kernel_entry& entry) { entry = std::move(found); });
    kernels.emplace(std::move(kernel), static_cast<std::uint32_t>(index));
  }
  return static_cast<std::uint32_t>(parts_.kernels.programs.add([&](program_entry& entry) {
    entry.name = name;
    entry.libraries = of;
    entry.kernels = std::move(kernels);
  }));
}

void program_loader::rename(std::uint32_t program, kernel_aliases const& aliases) const {
  program_entry& entry = parts_.kernels.programs[program];
  for (auto const& [symbol, names] : aliases) {
    auto const found = entry.kernels.find(symbol);
    if (found == entry.kernels.end()) { continue; }
    std::uint32_t const index = found->second;
    entry.kernels.erase(found);
    for (std::string const& name : names) { entry.kernels.emplace(name, index); }
    parts_.kernels.kernels[index].name = names.front();  // for messages
  }
}

std::uint32_t program_loader::index_of(program_entry const& program, std::string_view name) const {
  auto const found = program.kernels.find(name);
  if (found != program.kernels.end()) { return found->second; }
  std::string all;
  for (auto const& [each, index] : program.kernels) { all += (all.empty() ? "" : ", ") + each; }
  for (std::string const& each : program.gpu_only) {
    if (each == name) {
      throw gpu_only_kernel("kernel '" + each + "' of " + program.name +
                            " is only for GPUs, because flotilla_add_kernels has the option "
                            "GPU_ONLY; this runtime has CPU devices");
    }
    all += (all.empty() ? "" : ", ") + each;
  }
  throw unknown_symbol("there is no kernel '" + std::string{name} + "' in " + program.name +
                       (all.empty() ? "; it has no kernels" : "; its kernels: " + all));
}

std::uint32_t program_loader::find_kernel(std::uint32_t program, std::string_view name,
                                          std::span<detail::parameter_layout const> layout) const {
  parts_.usage.check_process();
  program_entry const& entry = parts_.kernels.programs[program];
  std::uint32_t const index = index_of(entry, name);
  check_layout(parts_.kernels.kernels[index], entry.name, layout);
  return index;
}

std::uint32_t program_loader::adopt(CUkernel handle,
                                    std::span<detail::parameter_layout const> layout) const {
  constexpr char owner[] = "the application";
  parts_.usage.check_usable();
  if (handle == nullptr) { throw invalid_argument("adopt_kernel: the handle is null"); }
  kernel_entry adopted;
  std::vector<CUfunction> functions(parts_.devices.size());
  for (unsigned device = 0; device < parts_.devices.size(); ++device) {
    if (!parts_.operations.is_usable(device)) { continue; }
    driver::table const& api = libraries_.api_of(device);
    parts_.operations.run(device, [&](device_driver& driver) {
      auto const subject = [&] {
        return std::string{"the kernel of adopt_kernel, "} + driver.context().subject();
      };
      check(api.kernel_get_function(&functions[device], handle), "cuKernelGetFunction", subject);
      check(api.func_load(functions[device]), "cuFuncLoad", subject);
    });
  }
  unsigned const any = parts_.operations.usable_instead_of(0);
  parts_.operations.run(any, [&](device_driver&) {
    adopted = query_kernel(libraries_.api_of(any), handle, owner);
    adopted.functions = std::move(functions);
    complete(libraries_.api_of(any), adopted, any);
  });
  check_layout(adopted, owner, layout);
  return static_cast<std::uint32_t>(
      parts_.kernels.kernels.add([&](kernel_entry& entry) { entry = std::move(adopted); }));
}

std::uint32_t program_loader::find_kernel(std::uint32_t program, std::string_view name) const {
  parts_.usage.check_process();
  program_entry const& entry = parts_.kernels.programs[program];
  std::uint32_t const index = index_of(entry, name);
  check_argument_bytes(parts_.kernels.kernels[index], entry.name);
  return index;
}

std::vector<std::string> program_loader::kernel_names(std::uint32_t program) const {
  std::vector<std::string> names = parts_.kernels.programs[program].gpu_only;
  for (auto const& [name, index] : parts_.kernels.programs[program].kernels) {
    names.push_back(name);
  }
  return names;
}

void program_loader::prefer_cache(std::uint32_t program, unsigned device, std::string_view kernel,
                                  cache_preference preference) const {
  parts_.usage.check_usable();
  std::uint32_t const index = index_of(parts_.kernels.programs[program], kernel);
  kernel_entry const& entry = parts_.kernels.kernels[index];
  parts_.operations.run(device, [&](device_driver& driver) {
    driver::table const& api = driver.context().api();
    auto const subject = [&] {
      return "kernel '" + std::string{kernel} + "', cache = " + to_string(preference) + ", " +
             driver.context().subject();
    };
    // A CUfunction is the kernel in one context, so the preference holds only for this device.
    for (std::vector<CUfunction> const* const each :
         {&entry.functions, &entry.twin.functions, &entry.twin.ordered}) {
      if (each->empty()) { continue; }
      check(api.func_set_cache_config((*each)[device], static_cast<CUfunc_cache>(preference)),
            "cuFuncSetCacheConfig", subject);
    }
  });
}

void program_loader::copy_global(std::uint32_t program, unsigned device, std::string_view name,
                                 std::span<std::byte> bytes, bool write) const {
  program_entry const& entry = parts_.kernels.programs[program];
  std::string const variable{name};
  if (entry.libraries.empty()) {
    throw gpu_only_kernel("variable '" + variable + "' of " + entry.name +
                          " is only for GPUs, because flotilla_add_kernels has the option "
                          "GPU_ONLY; this runtime has CPU devices");
  }
  parts_.operations.run(device, [&](device_driver& driver) {
    driver::table const& api = driver.context().api();
    CUdeviceptr address = 0;
    std::size_t size = 0;
    CUresult const found =
        api.library_get_global(&address, &size, entry.libraries[device], variable.c_str());
    if (found == CUDA_ERROR_NOT_FOUND) {
      throw unknown_symbol("there is no variable '" + variable + "' in " + entry.name);
    }
    auto const subject = [&] {
      return "variable '" + variable + "' of " + entry.name + ", " + driver.context().subject();
    };
    check(found, "cuLibraryGetGlobal", subject);
    if (bytes.size() > size) {
      throw invalid_argument("variable '" + variable + "' of " + entry.name + " has " +
                             std::to_string(size) + " bytes on " + driver.context().subject() +
                             ", but the copy has " + std::to_string(bytes.size()) + " bytes");
    }
    CUresult answer = write ? api.memcpy_htod(address, bytes.data(), bytes.size())
                            : api.memcpy_dtoh(bytes.data(), address, bytes.size());
    // cuMemcpyHtoD may return when it has read up to 64 KiB. The lanes would not wait for the rest.
    if (write && answer == CUDA_SUCCESS) { answer = api.stream_synchronize(nullptr); }
    parts_.shared.faults.note(answer, device);
    check(answer, write ? "cuMemcpyHtoD" : "cuMemcpyDtoH", subject);
  });
}

void program_loader::unload_all() const noexcept {
  auto const& programs = parts_.kernels.programs;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    parts_.shared.faults.note(libraries_.unload(programs[i].name, programs[i].libraries), 0);
  }
}

}  // namespace flotilla::dispatch

// Loading images: one handle a kernel for every context, and every context made to load it now.
#include <algorithm>
#include <array>

#include <flotilla/error.hpp>

#include "dispatch/core.hpp"
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
      return true;
    default:
      return false;
  }
}

/// A driver may accept any bytes as a library and look at them only when a context needs them: this one does now.
void load_here(driver::table const& api, CUlibrary library, std::string const& name) {
  CUmodule module = nullptr;
  check(api.library_get_module(&module, library), "cuLibraryGetModule", name);
}

struct description {
  std::string name;
  std::vector<parameter> parameters;
  std::uint32_t argument_bytes = 0;
};

description describe_kernel(driver::table const& api, CUkernel handle, std::string const& program) {
  description into;
  char const* name = nullptr;
  check(api.kernel_get_name(&name, handle), "cuKernelGetName", program);
  into.name = name;
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    CUresult const answer = api.kernel_get_param_info(handle, i, &offset, &bytes);
    if (answer == CUDA_ERROR_INVALID_VALUE) { break; }  // past the last
    check(answer, "cuKernelGetParamInfo", [&] { return "kernel '" + into.name + "' of " + program; });
    into.parameters.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes)});
    into.argument_bytes = std::max(into.argument_bytes, static_cast<std::uint32_t>(offset + bytes));
  }
  return into;
}

}  // namespace

std::uint32_t core::load(std::string name, void const* code, std::string const& file) {
  check_usable();
  if (code == nullptr && file.empty()) {
    throw bad_image(name + " holds no code for " + (api().kind == device_kind::gpu ? "GPUs" : "CPU devices"));
  }
  CUlibrary library = nullptr;
  try {
    control(0, [&](device_queue& queue) {
      driver::table const& driver = queue.context.api();
      if (code != nullptr) {
        check(driver.library_load_data(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0), "cuLibraryLoadData",
              name);
      } else {
        // By its path, not its bytes: the driver is told no size of bytes, and would read past the end of a cut file.
        check(driver.library_load_from_file(&library, file.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              "cuLibraryLoadFromFile", name);
      }
      load_here(driver, library, name);
    });
    unsigned count = 0;
    check(api().library_get_kernel_count(&count, library), "cuLibraryGetKernelCount", name);
    std::vector<CUkernel> handles(count);
    if (count != 0) {
      check(api().library_enumerate_kernels(handles.data(), count, library), "cuLibraryEnumerateKernels", name);
    }
    std::vector<std::vector<CUfunction>> functions(handles.size(), std::vector<CUfunction>(devices_.size()));
    // A kernel loaded lazily would be loaded under whoever drains, and stall the device.
    for (auto const& each : devices_) {
      control(each->index, [&](device_queue& queue) {
        load_here(queue.context.api(), library, name);
        for (std::size_t i = 0; i < handles.size(); ++i) {
          CUfunction& function = functions[i][queue.index];
          check(queue.context.api().kernel_get_function(&function, handles[i]), "cuKernelGetFunction",
                [&] { return name + ", " + queue.context.subject(); });
          check(queue.context.api().func_load(function), "cuFuncLoad",
                [&] { return name + ", " + queue.context.subject(); });
        }
      });
    }
    program_entry made;
    // A real driver describes parameters only with a context current.
    control(0, [&](device_queue& queue) {
      for (std::size_t i = 0; i < handles.size(); ++i) {
        description of = describe_kernel(queue.context.api(), handles[i], name);
        std::size_t const index = table.kernels.add([&](kernel_entry& entry) {
          entry.name = of.name;
          entry.handle = handles[i];
          entry.functions = std::move(functions[i]);
          entry.parameters = std::move(of.parameters);
          entry.argument_bytes = of.argument_bytes;
        });
        made.kernels.emplace(std::move(of.name), static_cast<std::uint32_t>(index));
      }
    });
    return static_cast<std::uint32_t>(table.programs.add([&](program_entry& entry) {
      entry.name = name;
      entry.library = library;
      entry.kernels = std::move(made.kernels);
    }));
  } catch (driver_error const& why) {
    if (library != nullptr) { api().library_unload(library); }
    if (is_about_the_image(static_cast<CUresult>(why.status()))) { throw bad_image(why.what()); }
    throw;
  }
}

std::uint32_t core::find_kernel(std::uint32_t program, std::string_view name,
                                std::span<detail::parameter_layout const> layout) const {
  check_process();
  program_entry const& in = table.programs[program];
  auto const found = in.kernels.find(name);
  if (found == in.kernels.end()) {
    std::string all;
    for (auto const& [each, index] : in.kernels) { all += (all.empty() ? "" : ", ") + each; }
    throw unknown_kernel("there is no kernel '" + std::string{name} + "' in " + in.name + "; there are " +
                         (all.empty() ? "none" : all));
  }
  kernel_entry const& kernel = table.kernels[found->second];
  std::string const subject = "kernel '" + kernel.name + "' of " + in.name;
  if (kernel.argument_bytes > launch::most_bytes) {
    throw invalid_argument(subject + " takes " + std::to_string(kernel.argument_bytes) +
                           " bytes of arguments: a launch carries " + std::to_string(launch::most_bytes) + " at most");
  }
  if (kernel.parameters.size() != layout.size()) {
    throw invalid_argument(subject + " has " + std::to_string(kernel.parameters.size()) + " parameters, not " +
                           std::to_string(layout.size()));
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    at = (at + layout[i].alignment - 1) & ~(layout[i].alignment - 1);
    if (kernel.parameters[i].bytes != layout[i].bytes || kernel.parameters[i].offset != at) {
      throw invalid_argument(subject + ": parameter " + std::to_string(i) + " has " +
                             std::to_string(kernel.parameters[i].bytes) + " bytes at offset " +
                             std::to_string(kernel.parameters[i].offset) + ", not " +
                             std::to_string(layout[i].bytes) + " at " + std::to_string(at));
    }
    at += layout[i].bytes;
  }
  return found->second;
}

void core::copy_global(std::uint32_t program, unsigned device, std::string_view name, std::span<std::byte> bytes,
                       bool write) {
  program_entry const& in = table.programs[program];
  std::string const text{name};
  control(device, [&](device_queue& queue) {
    driver::table const& api = queue.context.api();
    CUdeviceptr address = 0;
    std::size_t size = 0;
    CUresult const found = api.library_get_global(&address, &size, in.library, text.c_str());
    if (found == CUDA_ERROR_NOT_FOUND) {
      throw unknown_kernel("there is no variable '" + text + "' in " + in.name);
    }
    auto const subject = [&] { return "variable '" + text + "' of " + in.name + ", " + queue.context.subject(); };
    check(found, "cuLibraryGetGlobal", subject);
    if (bytes.size() > size) {
      throw invalid_argument(subject() + " has " + std::to_string(size) + " bytes, not " + std::to_string(bytes.size()));
    }
    CUresult const answer = write ? api.memcpy_htod(address, bytes.data(), bytes.size())
                                  : api.memcpy_dtoh(bytes.data(), address, bytes.size());
    note(answer, queue);
    check(answer, write ? "cuMemcpyHtoD" : "cuMemcpyDtoH", subject);
  });
}

}  // namespace flotilla::dispatch

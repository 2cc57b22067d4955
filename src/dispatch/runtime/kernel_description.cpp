// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/kernel_description.hpp"

#include <algorithm>

#include <flotilla/detail/ordered_twin.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/kernel/launch.hpp>

#include "driver/check.hpp"

namespace flotilla::dispatch {

using driver::check;

namespace {

/// Returns an attribute of the function, or 0 if the driver does not know it.
int attribute(driver::table const& api, CUfunction_attribute which, CUfunction function) noexcept {
  int value = 0;
  return api.func_get_attribute(&value, which, function) == CUDA_SUCCESS ? value : 0;
}

void complete_twin(driver::table const& api, kernel_entry& kernel, unsigned device) {
  kernel_twin& twin = kernel.twin;
  auto const needs_more_memory = [&](CUfunction function) {
    constexpr auto local = CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
    return attribute(api, local, function) > attribute(api, local, kernel.functions[device]);
  };
  auto const value = [&](CUfunction_attribute which, CUfunction function) {
    return static_cast<std::uint32_t>(attribute(api, which, function));
  };
  if (twin.functions.empty() || needs_more_memory(twin.functions[device])) {
    twin = {};
    return;
  }
  twin.max_threads = value(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, twin.functions[device]);
  if (twin.ordered.empty() || needs_more_memory(twin.ordered[device])) {
    twin.ordered.clear();
    return;
  }
  twin.max_threads_ordered = value(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, twin.ordered[device]);
  twin.static_shared_bytes_ordered =
      value(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, twin.ordered[device]);
}

}  // namespace

std::vector<loaded_kernel> kernels_of(driver::table const& api, CUlibrary library,
                                      std::string const& program, bool use_twins) {
  unsigned count = 0;
  check(api.library_get_kernel_count(&count, library), "cuLibraryGetKernelCount", program);
  std::vector<CUkernel> handles(count);
  if (count != 0) {
    check(api.library_enumerate_kernels(handles.data(), count, library),
          "cuLibraryEnumerateKernels", program);
  }
  std::vector<loaded_kernel> kernels;
  for (CUkernel const handle : handles) {
    char const* text = nullptr;
    check(api.kernel_get_name(&text, handle), "cuKernelGetName", program);
    std::string const name{text};
    if (name.find(detail::twin_mark) != std::string::npos) { continue; }
    loaded_kernel& found = kernels.emplace_back();
    found.name = name;
    found.handle = handle;
    if (!use_twins) { continue; }
    auto const find = [&](CUkernel& twin, std::string_view suffix) {
      std::string const its_name = name + std::string{suffix};
      CUresult const answer = api.library_get_kernel(&twin, library, its_name.c_str());
      if (answer == CUDA_ERROR_NOT_FOUND) {
        twin = nullptr;
      } else {
        check(answer, "cuLibraryGetKernel", program);
      }
    };
    find(found.twin, detail::twin_suffix);
    find(found.ordered, detail::ordered_twin_suffix);
  }
  std::sort(kernels.begin(), kernels.end(),
            [](auto const& a, auto const& b) { return a.name < b.name; });
  return kernels;
}

kernel_entry query_kernel(driver::table const& api, CUkernel handle, std::string const& program) {
  kernel_entry found;
  char const* name = nullptr;
  check(api.kernel_get_name(&name, handle), "cuKernelGetName", program);
  found.name = name;
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    CUresult const answer = api.kernel_get_param_info(handle, i, &offset, &bytes);
    if (answer == CUDA_ERROR_INVALID_VALUE) { break; }  // there is no parameter `i`
    check(answer, "cuKernelGetParamInfo",
          [&] { return "kernel '" + found.name + "' of " + program; });
    found.parameters.push_back(
        {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes)});
    found.infos.emplace_back().offset = offset;
    found.argument_bytes =
        std::max(found.argument_bytes, static_cast<std::uint32_t>(offset + bytes));
  }
  return found;
}

void complete(driver::table const& api, kernel_entry& kernel, unsigned device) {
  kernel.shared_limits = std::make_unique<std::uint32_t[]>(kernel.functions.size());
  kernel.durations = std::make_unique<std::atomic<float>[]>(kernel.functions.size());
  kernel.launched = std::make_unique<std::atomic<std::int64_t>[]>(kernel.functions.size());
  kernel.has_clusters =
      attribute(api, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, kernel.functions[device]) != 0;
  complete_twin(api, kernel, device);
}

void check_argument_bytes(kernel_entry const& kernel, std::string const& program) {
  if (kernel.argument_bytes <= launch::max_bytes) { return; }
  throw invalid_argument("kernel '" + kernel.name + "' of " + program + " takes " +
                         std::to_string(kernel.argument_bytes) +
                         " bytes of arguments, but the maximum is " +
                         std::to_string(launch::max_bytes));
}

void check_layout(kernel_entry const& kernel, std::string const& program,
                  std::span<detail::parameter_layout const> layout) {
  std::string const subject = "kernel '" + kernel.name + "' of " + program;
  check_argument_bytes(kernel, program);
  if (kernel.parameters.size() != layout.size()) {
    throw invalid_argument(subject + " has " + std::to_string(kernel.parameters.size()) +
                           " parameters, but " + std::to_string(layout.size()) +
                           " argument types were given");
  }
  std::size_t offset = 0;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    offset = (offset + layout[i].alignment - 1) & ~(layout[i].alignment - 1);
    if (kernel.parameters[i].bytes != layout[i].bytes || kernel.parameters[i].offset != offset) {
      throw invalid_argument(subject + ": parameter " + std::to_string(i) + " has " +
                             std::to_string(kernel.parameters[i].bytes) + " bytes at offset " +
                             std::to_string(kernel.parameters[i].offset) +
                             ", but the given type has " + std::to_string(layout[i].bytes) +
                             " bytes at offset " + std::to_string(offset));
    }
    offset += layout[i].bytes;
  }
}

}  // namespace flotilla::dispatch

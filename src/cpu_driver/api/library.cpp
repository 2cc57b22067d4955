// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for libraries and their kernels.
#include <algorithm>

#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/context/driver_state.hpp"
#include "cpu_driver/module/function_attributes.hpp"
#include "cpu_driver/module/library.hpp"
#include "cpu_driver/module/module.hpp"

namespace flotilla::cpu_driver {
namespace {

template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_library(char const* entry, CUlibrary handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&] {
    auto const found = library::table().find(handle);
    return found ? body(*found) : CUDA_ERROR_INVALID_HANDLE;
  });
}

template <class Body>
CUresult with_kernel(char const* entry, CUkernel handle, Body&& body) noexcept {
  return with_driver(entry, [&] {
    auto const found = kernel::table().find(handle);
    return found ? body(*found) : CUDA_ERROR_INVALID_HANDLE;
  });
}

template <class Body>
CUresult with_kernel_on(char const* entry, CUkernel handle, CUdevice ordinal,
                        Body&& body) noexcept {
  return with_kernel(entry, handle, [&](kernel& found) {
    if (driver_state::get().find_device(ordinal) == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
    return body(found, *found.settings(ordinal));
  });
}

/// Finds the library's module in the current context. Loads the module if the context does not have
/// it yet.
CUresult module_here(library& asked, module::ref& found) {
  context::ref current;
  if (CUresult const status = current_context(current)) { return status; }
  CUmodule loaded = nullptr;
  if (CUresult const status = asked.module_in(*current, loaded)) { return status; }
  found = module::table().find(loaded);
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

FLOTILLA_CPU_API CUresult cuLibraryLoadData(CUlibrary* made, void const* code, CUjit_option*,
                                            void**, unsigned, CUlibraryOption*, void**, unsigned) {
  return with_driver(__func__, [&] {
    if (made == nullptr || code == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return library::create(code, loaded_image::unknown_size, *made);
  });
}

FLOTILLA_CPU_API CUresult cuLibraryLoadFromFile(CUlibrary* made, char const* path, CUjit_option*,
                                                void**, unsigned, CUlibraryOption*, void**,
                                                unsigned) {
  return with_driver(__func__, [&] {
    if (made == nullptr || path == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    std::vector<std::byte> bytes;
    if (CUresult const status = read_file(path, bytes)) { return status; }
    return library::create(bytes.data(), bytes.size(), *made);
  });
}

FLOTILLA_CPU_API CUresult cuLibraryUnload(CUlibrary handle) {
  return with_driver<when_poisoned::act_and_report>(__func__, [&] {
    return library::table().close(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

FLOTILLA_CPU_API CUresult cuLibraryGetKernel(CUkernel* found, CUlibrary handle, char const* name) {
  return with_library(__func__, handle, [&](library& asked) {
    if (found == nullptr || name == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    CUkernel const known = asked.find_kernel(name);
    if (known == nullptr) { return CUDA_ERROR_NOT_FOUND; }
    *found = known;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary handle) {
  return with_library(__func__, handle, [&](library& asked) {
    if (count == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *count = static_cast<unsigned>(asked.kernels().size());
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuLibraryEnumerateKernels(CUkernel* found, unsigned count,
                                                    CUlibrary handle) {
  return with_library(__func__, handle, [&](library& asked) {
    if (found == nullptr || count == 0) { return CUDA_ERROR_INVALID_VALUE; }
    auto const& all = asked.kernels();
    std::copy_n(all.begin(), std::min<std::size_t>(count, all.size()), found);
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuLibraryGetModule(CUmodule* found, CUlibrary handle) {
  return with_library(__func__, handle, [&](library& asked) {
    if (found == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    module::ref here;
    if (CUresult const status = module_here(asked, here)) { return status; }
    *found = here->self();
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary handle,
                                             char const* name) {
  return with_library(__func__, handle, [&](library& asked) {
    if (name == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    module::ref here;
    if (CUresult const status = module_here(asked, here)) { return status; }
    cpu::global_record const* const known = here->find_global(name);
    if (known == nullptr) { return CUDA_ERROR_NOT_FOUND; }
    if (address != nullptr) { *address = reinterpret_cast<CUdeviceptr>(known->address); }
    if (bytes != nullptr) { *bytes = known->bytes; }
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuKernelGetFunction(CUfunction* found, CUkernel handle) {
  return with_kernel(__func__, handle, [&](kernel&) {
    if (found == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    context::ref current;
    if (CUresult const status = current_context(current)) { return status; }
    return function_of(handle, *current, *found);
  });
}

FLOTILLA_CPU_API CUresult cuKernelGetLibrary(CUlibrary* found, CUkernel handle) {
  return with_kernel(__func__, handle, [&](kernel& asked) {
    if (found == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *found = asked.library_handle();
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuKernelGetName(char const** name, CUkernel handle) {
  return with_kernel(__func__, handle, [&](kernel& asked) {
    if (name == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *name = asked.record().name;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset,
                                               size_t* bytes) {
  return with_kernel(__func__, handle, [&](kernel& asked) {
    context::ref current;  // a GPU's driver describes parameters only if a context is current
    if (CUresult const status = current_context(current)) { return status; }
    return parameter_info(asked.record(), index, offset, bytes);
  });
}

FLOTILLA_CPU_API CUresult cuKernelGetAttribute(int* value, CUfunction_attribute which,
                                               CUkernel handle, CUdevice ordinal) {
  return with_kernel_on(__func__, handle, ordinal, [&](kernel& asked, function_settings& settings) {
    if (value == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return function_attribute(*value, raw_enum(which), asked.record(), settings);
  });
}

FLOTILLA_CPU_API CUresult cuKernelSetAttribute(CUfunction_attribute which, int value,
                                               CUkernel handle, CUdevice ordinal) {
  return with_kernel_on(__func__, handle, ordinal, [&](kernel&, function_settings& settings) {
    return set_function_attribute(raw_enum(which), value, settings);
  });
}

FLOTILLA_CPU_API CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config,
                                                 CUdevice ordinal) {
  return with_kernel_on(__func__, handle, ordinal, [&](kernel&, function_settings& settings) {
    return set_function_cache(raw_enum(config), settings);
  });
}

}  // namespace flotilla::cpu_driver

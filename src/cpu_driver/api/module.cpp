// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for modules and their functions.
#include <limits>

#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/module/function_attributes.hpp"
#include "cpu_driver/module/launch_check.hpp"
#include "cpu_driver/module/library.hpp"
#include "cpu_driver/module/module.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr std::size_t unknown = loaded_image::unknown_size;

CUresult load_module(context& current, CUmodule* made, void const* code, std::size_t bytes) {
  std::shared_ptr<loaded_image const> image;
  if (CUresult const status = load_image(code, bytes, image)) { return status; }
  *made = module::create(current, std::move(image), nullptr);
  return CUDA_SUCCESS;
}

CUresult load_module(char const* entry, CUmodule* made, void const* code) noexcept {
  return with_context(entry, [&](context& current) {
    if (made == nullptr || code == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return load_module(current, made, code, unknown);
  });
}

template <class Body>
CUresult with_module(char const* entry, CUmodule handle, Body&& body) noexcept {
  return with_driver(entry, [&] {
    auto const found = module::table().find(handle);
    return found ? body(*found) : CUDA_ERROR_INVALID_HANDLE;
  });
}

/// Implements an entry point that acts on a function. If the handle names a kernel, the entry point
/// acts on the kernel's function in the current context.
template <class Body>
CUresult with_function(char const* entry, CUfunction handle, Body&& body) noexcept {
  return with_driver(entry, [&] {
    function::ref found = function::table().find(handle);
    if (!found) {
      if (!kernel::table().find(reinterpret_cast<CUkernel>(handle))) {
        return CUDA_ERROR_INVALID_HANDLE;
      }
      context::ref current;
      if (CUresult const status = current_context(current)) { return status; }
      if (CUresult const status = find_function(handle, current->resources(), found)) {
        return status;
      }
    }
    return body(*found);
  });
}

}  // namespace

FLOTILLA_CPU_API CUresult cuModuleLoad(CUmodule* made, char const* path) {
  return with_context(__func__, [&](context& current) {
    if (made == nullptr || path == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    std::vector<std::byte> bytes;
    if (CUresult const status = read_file(path, bytes)) { return status; }
    return load_module(current, made, bytes.data(), bytes.size());
  });
}

FLOTILLA_CPU_API CUresult cuModuleLoadData(CUmodule* made, void const* code) {
  return load_module(__func__, made, code);
}

FLOTILLA_CPU_API CUresult cuModuleLoadDataEx(CUmodule* made, void const* code, unsigned,
                                             CUjit_option*, void**) {
  // The options are ignored, because they concern the compilation of PTX, which the CPU driver does
  // not support.
  return load_module(__func__, made, code);
}

FLOTILLA_CPU_API CUresult cuModuleUnload(CUmodule handle) {
  return with_driver<when_poisoned::act_and_report>(__func__, [&] {
    auto const found = module::table().find(handle);
    if (!found) { return CUDA_ERROR_INVALID_HANDLE; }
    // A module of a library can be unloaded only together with the library.
    if (found->library() != nullptr) { return CUDA_ERROR_NOT_PERMITTED; }
    found->owner().resources().fifo.flush();
    return found->owner().modules().close(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

FLOTILLA_CPU_API CUresult cuModuleGetFunction(CUfunction* found, CUmodule handle,
                                              char const* name) {
  return with_module(__func__, handle, [&](module& in) {
    if (found == nullptr || name == nullptr || *name == 0) { return CUDA_ERROR_INVALID_VALUE; }
    CUfunction const known = in.get_function(name);
    if (known == nullptr) { return CUDA_ERROR_NOT_FOUND; }
    *found = known;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle,
                                               char const* name) {
  return with_module(__func__, handle, [&](module& in) {
    bool const asks = address != nullptr || bytes != nullptr;  // one of the two outputs is enough
    if (name == nullptr || !asks) { return CUDA_ERROR_INVALID_VALUE; }
    cpu::global_record const* const known = in.find_global(name);
    if (known == nullptr) { return CUDA_ERROR_NOT_FOUND; }
    if (address != nullptr) { *address = reinterpret_cast<CUdeviceptr>(known->address); }
    if (bytes != nullptr) { *bytes = known->bytes; }
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return with_driver(__func__, [&] {
    if (mode == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    // Lazy, because a library's module is loaded only when a context first needs the module.
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuFuncLoad(CUfunction handle) {
  // Every function that exists is loaded.
  return with_function(__func__, handle, [](function&) { return CUDA_SUCCESS; });
}

FLOTILLA_CPU_API CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  return with_function(__func__, handle, [&](function&) {
    if (state == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which,
                                             CUfunction handle) {
  return with_function(__func__, handle, [&](function& found) {
    if (value == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return function_attribute(*value, raw_enum(which), found.record(), found.settings());
  });
}

FLOTILLA_CPU_API CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute which,
                                             int value) {
  return with_function(__func__, handle, [&](function& found) {
    return set_function_attribute(raw_enum(which), value, found.settings());
  });
}

FLOTILLA_CPU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                      CUfunction handle,
                                                                      int block_size,
                                                                      std::size_t shared_bytes) {
  return with_function(__func__, handle, [&](function& found) {
    if (blocks == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return max_active_blocks(*blocks, found.record(), block_size, shared_bytes);
  });
}

FLOTILLA_CPU_API CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
  return with_function(__func__, handle, [&](function& found) {
    if (!known_cache_preference(raw_enum(config))) { return CUDA_ERROR_INVALID_VALUE; }
    found.prefer_cache(config);
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config) {
  return with_function(__func__, handle, [&](function&) {
    return known_bank_size(raw_enum(config)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuFuncGetModule(CUmodule* owner, CUfunction handle) {
  return with_function(__func__, handle, [&](function& found) {
    if (owner == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *owner = found.module_handle();
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuFuncGetName(char const** name, CUfunction handle) {
  return with_function(__func__, handle, [&](function& found) {
    if (name == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *name = found.record().name;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset,
                                             size_t* bytes) {
  return with_function(__func__, handle, [&](function& found) {
    return parameter_info(found.record(), index, offset, bytes);
  });
}

}  // namespace flotilla::cpu_driver

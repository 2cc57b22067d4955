// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The refusals of modules, libraries, functions and kernels. Loading a module needs a current
// context. Most other calls need only the handle of the loaded object. Where a CUkernel is used
// like a function, it means the function in the current context.
#include "refusal_rows.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr CUfunction_attribute fact = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
constexpr CUfunction_attribute settable = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
constexpr CUfunc_cache l1 = CU_FUNC_CACHE_PREFER_L1;
void const* const image = test_cpu_driver_kernels.cpu;

CUresult launch_ex(CUfunction what, CUstream where) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = where;
  return cu::cuLaunchKernelEx(&config, what, nullptr, nullptr);
}

}  // namespace

std::vector<refusal> refusals_of_code() {
  return {
      ROW(cuModuleLoadData, (&w.made_module, image), none, gone, (nullptr, nullptr), value),
      ROW(cuModuleLoadDataEx, (&w.made_module, image, 0, nullptr, nullptr), none, gone,
          (nullptr, nullptr, 0, nullptr, nullptr), value),
      ROW(cuModuleLoad, (&w.made_module, "/there/is/no/such/file"), none, gone, (nullptr, nullptr),
          value),
      ROW(cuModuleUnload, (w.module), ok, ok, (nullptr), handle),
      ROW(cuModuleGetFunction, (&w.made_function, w.module, "store"), ok, ok,
          (nullptr, w.module, nullptr), value),
      ROW(cuModuleGetGlobal_v2, (&w.address, &w.size, w.module, "variable"), ok, ok,
          (nullptr, nullptr, nullptr, nullptr), handle),
      ROW(cuModuleGetLoadingMode, (&w.mode), ok, ok, (nullptr), value),
      ROW(cuFuncLoad, (w.function), ok, ok, (nullptr), handle),
      ROW(cuFuncIsLoaded, (&w.loading, w.function), ok, ok, (nullptr, nullptr), handle),
      ROW(cuFuncGetAttribute, (&w.number, fact, w.function), ok, ok, (nullptr, fact, nullptr),
          handle),
      ROW(cuFuncSetAttribute, (w.function, settable, 64), ok, ok, (nullptr, settable, 64), handle),
      ROW(cuOccupancyMaxActiveBlocksPerMultiprocessor, (&w.number, w.function, 32, 0), ok, ok,
          (nullptr, nullptr, 32, 0), handle),
      ROW(cuFuncSetCacheConfig, (w.function, l1), ok, ok, (nullptr, l1), handle),
      ROW(cuFuncSetSharedMemConfig, (w.function, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE), ok, ok,
          (nullptr, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE), handle),
      ROW(cuFuncGetModule, (&w.made_module, reinterpret_cast<CUfunction>(w.kernel)), none, gone,
          (nullptr, w.function), value),
      ROW(cuFuncGetName, (&w.name, w.function), ok, ok, (nullptr, w.function), value),
      ROW(cuFuncGetParamInfo, (reinterpret_cast<CUfunction>(w.kernel), 0, &w.size, &w.size), none,
          gone, (nullptr, 0, nullptr, nullptr), handle),
      ROW(cuLibraryLoadData, (&w.made_library, image, nullptr, nullptr, 0, nullptr, nullptr, 0), ok,
          ok, (nullptr, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0), value),
      ROW(cuLibraryLoadFromFile,
          (&w.made_library, "/there/is/no/such/file", nullptr, nullptr, 0, nullptr, nullptr, 0),
          CUDA_ERROR_FILE_NOT_FOUND, CUDA_ERROR_FILE_NOT_FOUND,
          (nullptr, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0), value),
      ROW(cuLibraryUnload, (w.library), ok, ok, (nullptr), handle),
      ROW(cuLibraryGetKernel, (&w.made_kernel, w.library, "store"), ok, ok,
          (nullptr, nullptr, nullptr), handle),
      ROW(cuLibraryGetKernelCount, (&w.word, w.library), ok, ok, (nullptr, w.library), value),
      ROW(cuLibraryEnumerateKernels, (&w.made_kernel, 1, w.library), ok, ok,
          (nullptr, 1, w.library), value),
      ROW(cuLibraryGetModule, (&w.made_module, w.library), none, gone, (nullptr, w.library), value),
      ROW(cuLibraryGetGlobal, (&w.address, &w.size, w.library, "variable"), none, gone,
          (nullptr, nullptr, w.library, nullptr), value),
      ROW(cuKernelGetFunction, (&w.made_function, w.kernel), none, gone, (nullptr, w.kernel),
          value),
      ROW(cuKernelGetLibrary, (&w.made_library, w.kernel), ok, ok, (nullptr, w.kernel), value),
      ROW(cuKernelGetName, (&w.name, w.kernel), ok, ok, (nullptr, w.kernel), value),
      ROW(cuKernelGetParamInfo, (w.kernel, 0, &w.size, &w.size), none, gone,
          (nullptr, 0, nullptr, nullptr), handle),
      ROW(cuKernelGetAttribute, (&w.number, fact, w.kernel, 0), ok, ok,
          (nullptr, fact, w.kernel, 0), value),
      ROW(cuKernelSetAttribute, (settable, 64, w.kernel, 0), ok, ok, (settable, 64, nullptr, 0),
          handle),
      ROW(cuKernelSetCacheConfig, (w.kernel, l1, 0), ok, ok, (nullptr, l1, 0), handle),
      ROW(cuLaunchKernel, (w.function, 1, 1, 1, 1, 1, 1, 0, w.stream, nullptr, nullptr), ok, ok,
          (nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), handle),
      ROW(cuLaunchCooperativeKernel, (w.function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr), none,
          gone, (nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr), handle),
      refusal{"cuLaunchKernelEx", [](world& w) { return launch_ex(w.function, nullptr); }, none,
              gone, [](world&) { return cu::cuLaunchKernelEx(nullptr, nullptr, nullptr, nullptr); },
              value},
  };
}

}  // namespace flotilla::cpu_driver

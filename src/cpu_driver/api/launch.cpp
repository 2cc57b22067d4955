// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points that launch kernels.
#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/module/launch_check.hpp"

namespace flotilla::cpu_driver {
namespace {

/// Launches a grid whose blocks may wait for each other. A CPU device may run blocks one after the
/// other, so it supports only cooperative grids of one block.
CUresult launch_cooperative(stream& target, launch_request const& wanted) {
  cpu::index3 const& grid = wanted.grid_size;
  bool const one_block = grid.x <= 1 && grid.y <= 1 && grid.z <= 1;
  return one_block ? launch(target, wanted) : CUDA_ERROR_NOT_SUPPORTED;
}

/// Reads from the attributes of a launch whether the launch is cooperative. Ignores attributes that
/// are only hints, and refuses attributes that the CPU driver does not support.
CUresult read_attributes(CUlaunchConfig const& config, bool& cooperative) noexcept {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    CUlaunchAttribute const& each = config.attrs[i];
    switch (raw_enum(each.id)) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: cooperative = each.value.cooperative != 0; break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {
        auto const& size = each.value.clusterDim;
        if (size.x > 1 || size.y > 1 || size.z > 1) { return CUDA_ERROR_NOT_SUPPORTED; }
        break;
      }
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING: break;
      default: return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace

FLOTILLA_CPU_API CUresult cuLaunchKernel(CUfunction what, unsigned grid_x, unsigned grid_y,
                                         unsigned grid_z, unsigned block_x, unsigned block_y,
                                         unsigned block_z, unsigned shared_bytes, CUstream target,
                                         void** parameters, void** extra) {
  return with_stream(__func__, target, [&](stream& found) {
    return launch(found, {what,
                          {grid_x, grid_y, grid_z},
                          {block_x, block_y, block_z},
                          shared_bytes,
                          parameters,
                          extra});
  });
}

FLOTILLA_CPU_API CUresult cuLaunchKernelEx(CUlaunchConfig const* config, CUfunction what,
                                           void** parameters, void** extra) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return with_stream(__func__, config->hStream, [&](stream& found) {
    bool cooperative = false;
    if (CUresult const status = read_attributes(*config, cooperative)) { return status; }
    launch_request const wanted{what,
                                {config->gridDimX, config->gridDimY, config->gridDimZ},
                                {config->blockDimX, config->blockDimY, config->blockDimZ},
                                config->sharedMemBytes,
                                parameters,
                                extra};
    return cooperative ? launch_cooperative(found, wanted) : launch(found, wanted);
  });
}

FLOTILLA_CPU_API CUresult cuLaunchCooperativeKernel(CUfunction what, unsigned grid_x,
                                                    unsigned grid_y, unsigned grid_z,
                                                    unsigned block_x, unsigned block_y,
                                                    unsigned block_z, unsigned shared_bytes,
                                                    CUstream target, void** parameters) {
  return with_stream(__func__, target, [&](stream& found) {
    return launch_cooperative(found, {what,
                                      {grid_x, grid_y, grid_z},
                                      {block_x, block_y, block_z},
                                      shared_bytes,
                                      parameters,
                                      nullptr});
  });
}

}  // namespace flotilla::cpu_driver

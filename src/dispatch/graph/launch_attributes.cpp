// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/launch_attributes.hpp"

#include <array>

namespace flotilla::dispatch {

void allow_shared_bytes(driver::table const& api, kernel_entry const& kernel, unsigned device,
                        std::uint32_t bytes) noexcept {
  std::uint32_t& limit = kernel.shared_limits[device];
  CUfunction const function = kernel.functions[device];
  if (limit == 0) {
    int now = 0;
    static_cast<void>(
        api.func_get_attribute(&now, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    limit = static_cast<std::uint32_t>(now);
  }
  if (bytes <= limit || bytes > INT32_MAX) { return; }
  if (!kernel.twin.functions.empty()) {
    // If the driver refuses this, it refuses the twin's launch too, and flotilla launches the
    // kernel itself.
    static_cast<void>(api.func_set_attribute(kernel.twin.functions[device],
                                             CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                             static_cast<int>(bytes)));
  }
  if (api.func_set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                             static_cast<int>(bytes)) == CUDA_SUCCESS) {
    limit = bytes;
  }
}

CUresult launch_with_attributes(driver::table const& api, CUstream stream,
                                CUDA_KERNEL_NODE_PARAMS const& what,
                                launch_attributes const& attributes) noexcept {
  if (attributes.cluster_limit == cluster_limit::non_portable) {
    CUresult const answer =
        api.func_set_attribute(what.func, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    if (answer != CUDA_SUCCESS) { return answer; }
  }
  std::array<CUlaunchAttribute, 3> all{};
  CUlaunchConfig config{};
  config.attrs = all.data();
  auto const add = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue& {
    all[config.numAttrs].id = id;
    return all[config.numAttrs++].value;
  };
  if (extent const size = attributes.cluster; size != extent{}) {
    auto& value = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim;
    value.x = size.x;
    value.y = size.y;
    value.z = size.z;
  }
  if (attributes.cooperative) { add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1; }
  // A CPU device does not know this attribute. It starts a kernel after the end of the kernel
  // ahead, which the attribute allows.
  if (attributes.programmatic && api.kind == device_kind::gpu) {
    add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        .programmaticStreamSerializationAllowed = 1;
  }
  config.gridDimX = what.gridDimX;
  config.gridDimY = what.gridDimY;
  config.gridDimZ = what.gridDimZ;
  config.blockDimX = what.blockDimX;
  config.blockDimY = what.blockDimY;
  config.blockDimZ = what.blockDimZ;
  config.sharedMemBytes = what.sharedMemBytes;
  config.hStream = stream;
  return api.launch_kernel_ex(&config, what.func, what.kernelParams, nullptr);
}

}  // namespace flotilla::dispatch

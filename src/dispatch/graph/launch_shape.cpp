// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/launch_shape.hpp"

namespace flotilla::dispatch {

bool may_need_clusters(context::context_handle const& context, CUfunction kernel) noexcept {
  int width = 0;
  CUresult const answer =
      context.api().func_get_attribute(&width, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, kernel);
  return answer != CUDA_SUCCESS || width != 0;
}

}  // namespace flotilla::dispatch

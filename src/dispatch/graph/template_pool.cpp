// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/template_pool.hpp"

#include <algorithm>

namespace flotilla::dispatch {

namespace {

bool has_all_calls(driver::table const& api) noexcept {
  return api.graph_create != nullptr && api.graph_destroy != nullptr &&
         api.graph_add_kernel_node != nullptr && api.graph_add_batch_mem_op_node != nullptr &&
         api.graph_instantiate_with_flags != nullptr && api.graph_exec_destroy != nullptr &&
         api.graph_exec_kernel_node_set_params != nullptr &&
         api.graph_exec_batch_mem_op_node_set_params != nullptr &&
         api.graph_node_set_enabled != nullptr && api.graph_launch != nullptr;
}

}  // namespace

template_pool::template_pool(context::context_handle const& context) noexcept
    : context_(context), usable_(has_all_calls(context.api())) {}

std::vector<graph_template*>& template_pool::free_list(graph_template::shape const& shape,
                                                       bool has_completion_kernel,
                                                       bool waits_on_device) {
  static_assert(max_size < 256 && max_chains < 128);
  return free_[shape.size | shape.rows_per_completion << 8 | shape.chains << 16 |
               (has_completion_kernel ? 1u << 24 : 0) | (waits_on_device ? 1u << 25 : 0)];
}

graph_template& template_pool::take(request wanted, CUDA_KERNEL_NODE_PARAMS const& any,
                                    CUdeviceptr counter) {
  graph_template::shape& shape = wanted.shape;
  shape.rows_per_completion = std::min(shape.rows_per_completion, shape.size / shape.chains);
  std::vector<graph_template*>& free =
      free_list(shape, wanted.completion != nullptr, wanted.waits_on_device);
  if (free.empty()) {
    graph_template::functions const functions{wanted.completion, entry_,
                                              wanted.waits_on_device ? spin_ : nullptr};
    free.reserve(all_.size() + 1);  // so that give_back never allocates
    all_.push_back(std::make_unique<graph_template>(context_, shape, any, counter, functions));
    return *all_.back();
  }
  graph_template& found = *free.back();
  free.pop_back();
  return found;
}

void template_pool::give_back(graph_template& unused) noexcept {
  // `take` has made this list and reserved its room, so nothing is allocated here.
  free_list(unused.dimensions(), unused.has_completion_kernel(), unused.waits_on_device())
      .push_back(&unused);
}

void template_pool::destroy() noexcept {
  free_.clear();
  all_.clear();
}

}  // namespace flotilla::dispatch

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "mixed_graph.hpp"

#include <array>

#include "control_subject.hpp"
#include "driver/check.hpp"
#include "figure.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

constexpr std::size_t chains = 64;

}  // namespace

mixed_graph::mixed_graph(options const& wanted) : created_with{wanted}, tasks_{wanted.nodes} {
  if (device_.api().graph_create == nullptr) { throw not_available{"the driver has no graphs"}; }
  plain_device::scope const current{device_};
  stream_ = device_.make_stream();
  words_ = device_.allocate(tasks_.words() * sizeof(unsigned));
  create();
}

void mixed_graph::create() {
  driver::table const& api = device_.api();
  std::array<CUfunction, mixed_tasks::kernels> kernels{};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    kernels[i] = device_.kernel(mixed_tasks::names[i]);
  }
  check(api.graph_create(&description_, 0), "cuGraphCreate", control_subject);
  std::vector<CUgraphNode> nodes(tasks_.count());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    CUdeviceptr out = words_ + i * mixed_tasks::max_blocks * sizeof(unsigned);
    unsigned value = mixed_tasks::value(i);
    void* arguments[] = {&out, &value};
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = kernels[mixed_tasks::kernel(i)];
    params.gridDimX = tasks_.blocks(i);
    params.blockDimX = mixed_tasks::threads;
    params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments;
    bool const first = i < chains;
    check(api.graph_add_kernel_node(&nodes[i], description_, first ? nullptr : &nodes[i - chains],
                                    first ? 0 : 1, &params),
          "cuGraphAddKernelNode", control_subject);
  }
  check(api.graph_instantiate_with_flags(&executable_, description_, 0),
        "cuGraphInstantiateWithFlags", control_subject);
}

mixed_graph::~mixed_graph() {
  if (executable_ != nullptr) { device_.api().graph_exec_destroy(executable_); }
  if (description_ != nullptr) { device_.api().graph_destroy(description_); }
}

void mixed_graph::relaunch(std::int64_t times) {
  plain_device::scope const current{device_};
  for (std::int64_t i = 0; i < times; ++i) {
    check(device_.api().graph_launch(executable_, stream_), "cuGraphLaunch", control_subject);
  }
  device_.synchronize(stream_);
}

void mixed_graph::check_words() {
  plain_device::scope const current{device_};
  std::vector<unsigned> words(tasks_.words());
  std::size_t const bytes = words.size() * sizeof(unsigned);
  check(device_.api().memcpy_dtoh(words.data(), words_, bytes), "cuMemcpyDtoH", control_subject);
  tasks_.check(words, "relaunched graph");
  check(device_.api().memset_d8(words_, 0, bytes), "cuMemsetD8", control_subject);
}

}  // namespace flotilla::bench

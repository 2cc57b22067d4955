// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "plain_chains.hpp"

#include <flotilla_kernels.hpp>

#include "control_subject.hpp"
#include "driver/check.hpp"
#include "machine.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

CUDA_KERNEL_NODE_PARAMS one_block(CUfunction kernel, unsigned threads, void** arguments) {
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = kernel;
  params.gridDimX = params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = threads;
  params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = arguments;
  return params;
}

}  // namespace

plain_chains::plain_chains(options const& wanted)
    : created_with{wanted},
      api_{machine().api},
      context_{std::make_unique<context::context_handle>(api_, machine().devices[0],
                                                         device_settings{})} {
  check(api_->ctx_push_current(context_->handle()), "cuCtxPushCurrent", control_subject);
  create();
  CUcontext popped = nullptr;
  check(api_->ctx_pop_current(&popped), "cuCtxPopCurrent", control_subject);
}

void plain_chains::create() {
  void const* const code =
      api_->kind == device_kind::gpu ? flotilla_kernels.gpu : flotilla_kernels.cpu;
  check(api_->library_load_data(&library_, code, nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cuLibraryLoadData", control_subject);
  for (auto const& [name, into] :
       {std::pair{"null_kernel", &null_}, std::pair{"spin", &spin_}, std::pair{"store", &store_}}) {
    CUkernel kernel = nullptr;
    check(api_->library_get_kernel(&kernel, library_, name), "cuLibraryGetKernel", control_subject);
    check(api_->kernel_get_function(into, kernel), "cuKernelGetFunction", control_subject);
    check(api_->func_load(*into), "cuFuncLoad", control_subject);
  }
  check(api_->mem_alloc(&words_, sizeof(int) * static_cast<std::size_t>(created_with.nodes)),
        "cuMemAlloc", control_subject);
  lanes_.resize(static_cast<std::size_t>(created_with.streams));
  for (chain_stream& each : lanes_) {
    check(api_->stream_create(&each.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
          control_subject);
    each.graphs.resize(static_cast<std::size_t>(created_with.graphs));
    for (auto& graph : each.graphs) { create_graph(graph); }
  }
}

void plain_chains::create_graph(chain_graph& graph) const {
  check(api_->graph_create(&graph.description, 0), "cuGraphCreate", control_subject);
  auto const width = static_cast<std::size_t>(created_with.width);
  graph.nodes.resize(static_cast<std::size_t>(created_with.nodes));
  CUdeviceptr word = words_;
  int value = 0;
  void* arguments[] = {&word, &value};
  CUDA_KERNEL_NODE_PARAMS const params =
      created_with.stores ? one_block(store_, 32, arguments) : one_block(null_, 32, nullptr);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    bool const first = i < width;
    word = words_ + i * sizeof(int);
    check(api_->graph_add_kernel_node(&graph.nodes[i], graph.description,
                                      first ? nullptr : &graph.nodes[i - width], first ? 0 : 1,
                                      &params),
          "cuGraphAddKernelNode", control_subject);
  }
  check(api_->graph_instantiate_with_flags(&graph.executable, graph.description, 0),
        "cuGraphInstantiateWithFlags", control_subject);
}

plain_chains::~plain_chains() {
  for (chain_stream const& each : lanes_) {
    for (auto const& graph : each.graphs) {
      if (graph.executable != nullptr) { api_->graph_exec_destroy(graph.executable); }
      if (graph.description != nullptr) { api_->graph_destroy(graph.description); }
    }
  }
  if (library_ != nullptr) { api_->library_unload(library_); }
  context_.reset();  // also destroys the streams of the context
}

template <class Rewrite>
void plain_chains::launch(std::int64_t batches, Rewrite const& rewrite) {
  check(api_->ctx_push_current(context_->handle()), "cuCtxPushCurrent", control_subject);
  for (std::int64_t i = 0; i < batches; ++i) {
    chain_stream& lane = lanes_[static_cast<std::size_t>(i) % lanes_.size()];
    chain_graph const& next = lane.graphs[lane.next++ % lane.graphs.size()];
    rewrite(next);
    check(api_->graph_launch(next.executable, lane.stream), "cuGraphLaunch", control_subject);
  }
  for (chain_stream const& each : lanes_) {
    check(api_->stream_synchronize(each.stream), "cuStreamSynchronize", control_subject);
  }
  CUcontext popped = nullptr;
  check(api_->ctx_pop_current(&popped), "cuCtxPopCurrent", control_subject);
}

void plain_chains::relaunch(std::int64_t batches) {
  launch(batches, [](chain_graph const&) {});
}

void plain_chains::rewrite(std::int64_t batches, unsigned threads, unsigned long long nanoseconds) {
  void* arguments[] = {&nanoseconds};
  CUDA_KERNEL_NODE_PARAMS const params = one_block(spin_, threads, arguments);
  launch(batches, [&](chain_graph const& graph) {
    for (CUgraphNode const node : graph.nodes) {
      check(api_->graph_exec_kernel_node_set_params(graph.executable, node, &params),
            "cuGraphExecKernelNodeSetParams", control_subject);
    }
  });
}

}  // namespace flotilla::bench

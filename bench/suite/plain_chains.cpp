#include "plain_chains.hpp"

#include <flotilla_kernels.hpp>

#include "driver/check.hpp"
#include "machine.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

constexpr char const* subject = "the control of a bench";

CUDA_KERNEL_NODE_PARAMS one_block(CUfunction kernel, unsigned threads, void** arguments) {
  CUDA_KERNEL_NODE_PARAMS made{};
  made.func = kernel;
  made.gridDimX = made.gridDimY = made.gridDimZ = 1;
  made.blockDimX = threads;
  made.blockDimY = made.blockDimZ = 1;
  made.kernelParams = arguments;
  return made;
}

}  // namespace

plain_chains::plain_chains(shape const& wanted)
    : made_as{wanted},
      api_{machine().api},
      context_{std::make_unique<context::floating_context>(api_, machine().devices[0],
                                                           device_settings{})} {
  check(api_->ctx_push_current(context_->handle()), "cuCtxPushCurrent", subject);
  make();
  CUcontext popped = nullptr;
  check(api_->ctx_pop_current(&popped), "cuCtxPopCurrent", subject);
}

void plain_chains::make() {
  void const* const code =
      api_->kind == device_kind::gpu ? flotilla_kernels.gpu : flotilla_kernels.cpu;
  check(api_->library_load_data(&library_, code, nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cuLibraryLoadData", subject);
  for (auto const& [name, into] : {std::pair{"null_kernel", &null_}, std::pair{"spin", &spin_},
                                  std::pair{"store", &store_}}) {
    CUkernel kernel = nullptr;
    check(api_->library_get_kernel(&kernel, library_, name), "cuLibraryGetKernel", subject);
    check(api_->kernel_get_function(into, kernel), "cuKernelGetFunction", subject);
    check(api_->func_load(*into), "cuFuncLoad", subject);
  }
  check(api_->mem_alloc(&words_, sizeof(int) * static_cast<std::size_t>(made_as.nodes)), "cuMemAlloc", subject);
  lanes_.resize(static_cast<std::size_t>(made_as.streams));
  for (lane& each : lanes_) {
    check(api_->stream_create(&each.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate", subject);
    each.graphs.resize(static_cast<std::size_t>(made_as.graphs));
    for (graph& made : each.graphs) { make_graph(made); }
  }
}

void plain_chains::make_graph(graph& into) const {
  check(api_->graph_create(&into.described, 0), "cuGraphCreate", subject);
  auto const width = static_cast<std::size_t>(made_as.width);
  into.nodes.resize(static_cast<std::size_t>(made_as.nodes));
  CUdeviceptr where = words_;
  int value = 0;
  void* arguments[] = {&where, &value};
  CUDA_KERNEL_NODE_PARAMS const held = made_as.stores ? one_block(store_, 32, arguments) : one_block(null_, 32, nullptr);
  for (std::size_t i = 0; i < into.nodes.size(); ++i) {
    bool const first = i < width;
    where = words_ + i * sizeof(int);
    check(api_->graph_add_kernel_node(&into.nodes[i], into.described,
                                      first ? nullptr : &into.nodes[i - width], first ? 0 : 1,
                                      &held),
          "cuGraphAddKernelNode", subject);
  }
  check(api_->graph_instantiate_with_flags(&into.runs, into.described, 0),
        "cuGraphInstantiateWithFlags", subject);
}

plain_chains::~plain_chains() {
  for (lane const& each : lanes_) {
    for (graph const& made : each.graphs) {
      if (made.runs != nullptr) { api_->graph_exec_destroy(made.runs); }
      if (made.described != nullptr) { api_->graph_destroy(made.described); }
    }
  }
  if (library_ != nullptr) { api_->library_unload(library_); }
  context_.reset();  // and with it its streams
}

template <class Rewrite>
void plain_chains::launch(std::int64_t batches, Rewrite const& each) {
  check(api_->ctx_push_current(context_->handle()), "cuCtxPushCurrent", subject);
  for (std::int64_t i = 0; i < batches; ++i) {
    lane& on = lanes_[static_cast<std::size_t>(i) % lanes_.size()];
    graph const& with = on.graphs[on.next++ % on.graphs.size()];
    each(with);
    check(api_->graph_launch(with.runs, on.stream), "cuGraphLaunch", subject);
  }
  for (lane const& on : lanes_) {
    check(api_->stream_synchronize(on.stream), "cuStreamSynchronize", subject);
  }
  CUcontext popped = nullptr;
  check(api_->ctx_pop_current(&popped), "cuCtxPopCurrent", subject);
}

void plain_chains::relaunch(std::int64_t batches) {
  launch(batches, [](graph const&) {});
}

void plain_chains::rewrite(std::int64_t batches, unsigned threads, unsigned long long nanoseconds) {
  void* arguments[] = {&nanoseconds};
  CUDA_KERNEL_NODE_PARAMS const what = one_block(spin_, threads, arguments);
  launch(batches, [&](graph const& with) {
    for (CUgraphNode const node : with.nodes) {
      check(api_->graph_exec_kernel_node_set_params(with.runs, node, &what),
            "cuGraphExecKernelNodeSetParams", subject);
    }
  });
}

}  // namespace flotilla::bench

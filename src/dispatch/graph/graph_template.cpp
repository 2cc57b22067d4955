#include "dispatch/graph_template.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "dispatch/own_kernels.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

struct awaiting {
  void* arguments[3];
  CUDA_KERNEL_NODE_PARAMS parameters;

  awaiting(CUfunction awaiter, graph_template::awaited& what) noexcept
      : arguments{&what.counter, &what.number, &what.stopped}, parameters(one_block(awaiter, 1, arguments)) {}
  awaiting(awaiting const&) = delete;
  awaiting& operator=(awaiting const&) = delete;
};

}  // namespace

graph_template::graph_template(context::floating_context const& context, shape const& wanted,
                               CUDA_KERNEL_NODE_PARAMS const& any, CUdeviceptr counter, CUfunction marker,
                               CUfunction root, CUfunction awaiter)
    : context_(context), shape_(wanted), marked_(marker != nullptr), awaiter_(awaiter), nodes_(wanted.size) {
  try {
    driver::check(context.api().graph_create(&graph_, 0), "cuGraphCreate", context.subject());
    if (awaiter != nullptr) {
      awaited nothing{counter, 0, counter};
      add_root(awaiting{awaiter, nothing}.parameters);
    } else if (root != nullptr && width() > 1) {
      add_root(one_block(root, 1, nullptr));
    }
    build([&any](std::uint32_t) -> auto& { return any; }, counter, marker);
  } catch (...) {
    destroy();
    throw;
  }
}

graph_template::graph_template(context::floating_context const& context, shape const& wanted, filling const& first,
                               CUdeviceptr counter, CUfunction marker, updating const& update)
    : context_(context), shape_(wanted), marked_(marker != nullptr), family_(update.family),
      records_(std::make_unique<node_records>(update.memory, wanted.size, update.argument_bytes)), nodes_(wanted.size) {
  try {
    driver::check(context.api().graph_create(&graph_, 0), "cuGraphCreate", context.subject());
    add_root(one_block(update.updater, size(), records_->parameters()));
    build(first, counter, marker);
    // A graph that updates itself has to be on the device before it is launched.
    driver::check(context.api().graph_upload(exec_, update.stream), "cuGraphUpload", context.subject());
  } catch (...) {
    destroy();
    throw;
  }
}

void graph_template::build(filling const& first, CUdeviceptr counter, CUfunction marker) {
  driver::table const& api = context_.api();
  std::string const& subject = context_.subject();
  std::uint32_t const rows = size() / width();
  CUgraphNode ahead = root_;  // what the next row stands behind, where it is not the row before
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t i = row * width(); i < (row + 1) * width(); ++i) {
      CUgraphNode const behind = ahead != nullptr ? ahead : row != 0 ? nodes_[i - width()] : nullptr;
      driver::check(api.graph_add_kernel_node(&nodes_[i], graph_, &behind, behind != nullptr ? 1 : 0, &first(i)),
                    "cuGraphAddKernelNode", subject);
      if (updated()) { have_updated(i); }
    }
    ahead = nullptr;
    if ((row + 1) % run() != 0 && row + 1 != rows) { continue; }
    marks_.emplace_back().add(context_, graph_, {&nodes_[row * width()], width()}, counter, marker);
    ahead = marks_.back().node();
  }
  driver::check(api.graph_instantiate_with_flags(&exec_, graph_, 0), "cuGraphInstantiateWithFlags", subject);
}

void graph_template::add_root(CUDA_KERNEL_NODE_PARAMS const& what) {
  driver::check(context_.api().graph_add_kernel_node(&root_, graph_, nullptr, 0, &what), "cuGraphAddKernelNode",
                context_.subject());
}

void graph_template::have_updated(std::uint32_t i) {
  CUlaunchAttributeValue wanted{};
  wanted.deviceUpdatableKernelNode.deviceUpdatable = 1;
  driver::check(context_.api().graph_kernel_node_set_attribute(
                    nodes_[i], CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &wanted),
                "cuGraphKernelNodeSetAttribute", context_.subject());
  records_->attach(i, wanted.deviceUpdatableKernelNode.devNode);
}

graph_template::~graph_template() { destroy(); }

void graph_template::destroy() noexcept {
  driver::table const& api = context_.api();
  if (exec_ != nullptr) { api.graph_exec_destroy(std::exchange(exec_, nullptr)); }
  if (graph_ != nullptr) { api.graph_destroy(std::exchange(graph_, nullptr)); }
}

CUresult graph_template::set(std::uint32_t i, CUDA_KERNEL_NODE_PARAMS const& what) noexcept {
  CUresult answer = context_.api().graph_exec_kernel_node_set_params(exec_, nodes_[i], &what);
  std::uint64_t const bit = std::uint64_t{1} << i;
  if (answer == CUDA_SUCCESS && (disabled_ & bit) != 0) {
    answer = context_.api().graph_node_set_enabled(exec_, nodes_[i], 1);
    if (answer == CUDA_SUCCESS) { disabled_ &= ~bit; }
  }
  return answer;
}

CUresult graph_template::disable(std::uint32_t i) noexcept {
  if (records_ != nullptr) {
    records_->disable(i);
    return CUDA_SUCCESS;
  }
  std::uint64_t const bit = std::uint64_t{1} << i;
  if ((disabled_ & bit) != 0) { return CUDA_SUCCESS; }
  CUresult const answer = context_.api().graph_node_set_enabled(exec_, nodes_[i], 0);
  if (answer == CUDA_SUCCESS) { disabled_ |= bit; }
  return answer;
}

CUresult graph_template::await(awaited what) noexcept {
  awaiting const next{awaiter_, what};
  return context_.api().graph_exec_kernel_node_set_params(exec_, root_, &next.parameters);
}

CUresult graph_template::launch(CUstream stream, CUdeviceptr counter, std::uint64_t first) noexcept {
  CUresult answer = CUDA_SUCCESS;
  for (std::uint32_t i = 0; i < marks() && answer == CUDA_SUCCESS; ++i) {
    answer = marks_[i].set(context_, exec_, counter, first + i);
  }
  if (answer == CUDA_SUCCESS) { answer = context_.api().graph_launch(exec_, stream); }
  has_run_ = has_run_ || answer == CUDA_SUCCESS;
  return answer;
}

namespace {

bool has_all(driver::table const& api) noexcept {
  return api.graph_create != nullptr && api.graph_destroy != nullptr && api.graph_add_kernel_node != nullptr &&
         api.graph_add_batch_mem_op_node != nullptr && api.graph_instantiate_with_flags != nullptr &&
         api.graph_exec_destroy != nullptr && api.graph_exec_kernel_node_set_params != nullptr &&
         api.graph_exec_batch_mem_op_node_set_params != nullptr && api.graph_node_set_enabled != nullptr &&
         api.graph_launch != nullptr;
}

}  // namespace

template_pool::template_pool(context::floating_context const& context) noexcept
    : context_(context), usable_(has_all(context.api())) {}

std::vector<graph_template*>& template_pool::free_of(std::uint32_t size, std::uint32_t width, std::uint32_t run,
                                                     bool marked, bool awaits) noexcept {
  auto const log = [](std::uint32_t of) { return static_cast<std::size_t>(std::countr_zero(of)); };
  return free_[log(size)][log(width)][log(run)][(marked ? 1 : 0) + (awaits ? 2 : 0)];
}

graph_template& template_pool::take(std::uint32_t size, std::uint32_t width, std::uint32_t run,
                                    CUDA_KERNEL_NODE_PARAMS const& any, CUdeviceptr counter, CUfunction marker,
                                    bool awaits) {
  run = std::min(run, size / width);
  std::vector<graph_template*>& free = free_of(size, width, run, marker != nullptr, awaits);
  if (free.empty()) {
    all_.push_back(std::make_unique<graph_template>(context_, graph_template::shape{size, width, run}, any, counter,
                                                    marker, root_, awaits ? awaiter_ : nullptr));
    free.reserve(all_.size());  // so that give_back never allocates
    return *all_.back();
  }
  graph_template& got = *free.back();
  free.pop_back();
  return got;
}

void template_pool::give_back(graph_template& done) noexcept {
  free_of(done.size(), done.width(), done.run(), done.marked(), done.awaits()).push_back(&done);
}

void template_pool::destroy() noexcept {
  free_ = {};
  all_.clear();
}

}  // namespace flotilla::dispatch

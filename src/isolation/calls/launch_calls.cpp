// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/calls/calls.hpp"
#include "isolation/calls/forward.hpp"
#include "isolation/calls/kernel_parameters.hpp"
#include "isolation/calls/never_throws.hpp"
#include "isolation/calls/target.hpp"

namespace flotilla::isolated {

namespace {

/// A launch with any of the calls. put(session) adds what is between the stream and the parameters.
template <class Put>
CUresult launch(target const& to, operation what, CUfunction function, launch_geometry const& at,
                CUstream stream, void* const* values, Put const& put) {
  isolated_device& on = *to.device;
  if (CUresult const lost = to.lost(); lost != CUDA_SUCCESS) { return lost; }
  handle_bits const bits = handle_bits::of(stream);
  if (bits.value > 2 && !is_open(bits, object_kind::stream)) { return CUDA_ERROR_INVALID_HANDLE; }
  std::vector<std::uint32_t> const* sizes = nullptr;
  if (CUresult const status = parameters_of(on, function, sizes)) { return status; }
  session one{on, what, to.context, to.user()};
  one.put_object(forwarded_call::index_of(function));
  one.out().put(at);
  one.put_object(forwarded_call::index_of(stream));
  put(one);
  put_parameters(one.out(), *sizes, values);
  return one.enqueue();
}

target target_of(CUstream stream, CUfunction function) {
  target to;
  to.look(stream);
  to.look(function);
  to.decide();
  return to;
}

CUresult CUDAAPI launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                               unsigned grid_z, unsigned block_x, unsigned block_y,
                               unsigned block_z, unsigned shared_bytes, CUstream stream,
                               void** values, void** extra) {
  target const to = target_of(stream, function);
  if (to.device == nullptr) {
    return base().launch_kernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                shared_bytes, stream, values, extra);
  }
  if (extra != nullptr) { return CUDA_ERROR_NOT_SUPPORTED; }
  return launch(to, operation::launch_kernel, function,
                {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, stream,
                values, [](session&) {});
}

CUresult CUDAAPI launch_cooperative_kernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                           unsigned grid_z, unsigned block_x, unsigned block_y,
                                           unsigned block_z, unsigned shared_bytes, CUstream stream,
                                           void** values) {
  target const to = target_of(stream, function);
  if (to.device == nullptr) {
    return base().launch_cooperative_kernel(function, grid_x, grid_y, grid_z, block_x, block_y,
                                            block_z, shared_bytes, stream, values);
  }
  return launch(to, operation::launch_cooperative_kernel, function,
                {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, stream,
                values, [](session&) {});
}

/// Whether an attribute has only numbers. Others have handles, which would have to be translated.
bool is_plain(CUlaunchAttributeID id) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: return true;
    default: return false;
  }
}

CUresult CUDAAPI launch_kernel_ex(CUlaunchConfig const* config, CUfunction function, void** values,
                                  void** extra) {
  target const to = target_of(config != nullptr ? config->hStream : nullptr, function);
  if (to.device == nullptr) { return base().launch_kernel_ex(config, function, values, extra); }
  if (config == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (extra != nullptr) { return CUDA_ERROR_NOT_SUPPORTED; }
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (!is_plain(config->attrs[i].id)) { return CUDA_ERROR_NOT_SUPPORTED; }
  }
  return launch(to, operation::launch_kernel_ex, function,
                {{config->gridDimX, config->gridDimY, config->gridDimZ},
                 {config->blockDimX, config->blockDimY, config->blockDimZ},
                 config->sharedMemBytes},
                config->hStream, values, [&](session& one) {
                  one.out().put(static_cast<std::uint32_t>(config->numAttrs));
                  one.out().put_bytes(config->attrs, config->numAttrs * sizeof *config->attrs);
                });
}

/// The owner would have to run the function for the worker.
CUresult CUDAAPI launch_host_func(CUstream stream, CUhostFn function, void* data) {
  target to;
  to.look(stream);
  to.decide();
  return to.device != nullptr ? CUDA_ERROR_NOT_SUPPORTED
                              : base().launch_host_func(stream, function, data);
}

}  // namespace

CUresult check_function(isolated_device& on, CUfunction function) {
  handle_bits const bits = handle_bits::of(function);
  if (!is_open(bits, object_kind::function)) { return CUDA_ERROR_INVALID_HANDLE; }
  if (bits.is_shared()) {
    std::lock_guard const lock{on.mutex()};
    return on.ensure_shared(bits.index());
  }
  return bits.device() == on.ordinal() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult parameters_of(isolated_device& on, CUfunction function,
                       std::vector<std::uint32_t> const*& sizes) {
  if (CUresult const status = check_function(on, function); status != CUDA_SUCCESS) {
    return status;
  }
  handle_bits const bits = handle_bits::of(function);
  std::lock_guard const lock{on.mutex()};
  auto& known = on.parameters();
  if (auto const found = known.find(bits.value); found != known.end()) {
    sizes = &found->second;
    return CUDA_SUCCESS;
  }
  session one{on, operation::parameters_of, current_target().context};
  one.put_object(bits.index());
  one.out().put(static_cast<std::uint8_t>(bits.kind() == object_kind::kernel));
  if (CUresult const answer = one.send(); answer != CUDA_SUCCESS) { return answer; }
  std::vector<std::uint32_t> found;
  while (true) {
    auto const bytes = one.in().get<std::uint32_t>();
    if (!one.in().ok()) { break; }
    if (bytes > max_request_bytes) { return CUDA_ERROR_INVALID_VALUE; }  // no driver allows that
    found.push_back(bytes);
  }
  sizes = &(known[bits.value] = std::move(found));
  return CUDA_SUCCESS;
}

void put_parameters(message_writer& to, std::vector<std::uint32_t> const& sizes,
                    void* const* values) {
  if (values == nullptr) {
    to.put(no_arguments);
    return;
  }
  to.put(static_cast<std::uint32_t>(sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    to.put(sizes[i]);
    if (std::byte* const at = to.take(padded(sizes[i]))) { std::memcpy(at, values[i], sizes[i]); }
  }
}

void put_launch_calls(driver::table& into) {
  into.launch_kernel = never_throws<&launch_kernel>;
  into.launch_cooperative_kernel = never_throws<&launch_cooperative_kernel>;
  into.launch_kernel_ex = never_throws<&launch_kernel_ex>;
  into.launch_host_func = never_throws<&launch_host_func>;
}

}  // namespace flotilla::isolated

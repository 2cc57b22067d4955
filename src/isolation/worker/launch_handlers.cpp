// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/worker/executor.hpp"
#include "isolation/worker/kernel_arguments.hpp"

namespace flotilla::isolated {

namespace {

CUresult do_launch_kernel(worker_parts& parts, message_reader& in, message_writer&) {
  auto const function = parts.objects.get<CUfunction>(in.get<std::uint32_t>());
  auto const at = in.get<launch_geometry>();
  auto const stream = parts.objects.get<CUstream>(in.get<std::uint32_t>());
  kernel_arguments arguments{in};
  if (!in.ok()) { return CUDA_ERROR_INVALID_VALUE; }
  return parts.api.launch_kernel(function, at.grid[0], at.grid[1], at.grid[2], at.block[0],
                                 at.block[1], at.block[2], at.shared_bytes, stream,
                                 arguments.pointers(), nullptr);
}

CUresult do_launch_cooperative_kernel(worker_parts& parts, message_reader& in, message_writer&) {
  auto const function = parts.objects.get<CUfunction>(in.get<std::uint32_t>());
  auto const at = in.get<launch_geometry>();
  auto const stream = parts.objects.get<CUstream>(in.get<std::uint32_t>());
  kernel_arguments arguments{in};
  if (!in.ok()) { return CUDA_ERROR_INVALID_VALUE; }
  return parts.api.launch_cooperative_kernel(function, at.grid[0], at.grid[1], at.grid[2],
                                             at.block[0], at.block[1], at.block[2], at.shared_bytes,
                                             stream, arguments.pointers());
}

CUresult do_launch_kernel_ex(worker_parts& parts, message_reader& in, message_writer&) {
  auto const function = parts.objects.get<CUfunction>(in.get<std::uint32_t>());
  auto const at = in.get<launch_geometry>();
  auto const stream = parts.objects.get<CUstream>(in.get<std::uint32_t>());
  auto const count = in.get<std::uint32_t>();
  std::vector<CUlaunchAttribute> attributes;
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    attributes.push_back(in.get<CUlaunchAttribute>());
  }
  kernel_arguments arguments{in};
  if (!in.ok()) { return CUDA_ERROR_INVALID_VALUE; }
  CUlaunchConfig config{};
  config.gridDimX = at.grid[0];
  config.gridDimY = at.grid[1];
  config.gridDimZ = at.grid[2];
  config.blockDimX = at.block[0];
  config.blockDimY = at.block[1];
  config.blockDimZ = at.block[2];
  config.sharedMemBytes = at.shared_bytes;
  config.hStream = stream;
  config.attrs = attributes.data();
  config.numAttrs = count;
  return parts.api.launch_kernel_ex(&config, function, arguments.pointers(), nullptr);
}

}  // namespace

handler launch_handler(operation what) noexcept {
  switch (what) {
    case operation::launch_kernel: return &do_launch_kernel;
    case operation::launch_cooperative_kernel: return &do_launch_cooperative_kernel;
    case operation::launch_kernel_ex: return &do_launch_kernel_ex;
    default: return nullptr;
  }
}

}  // namespace flotilla::isolated

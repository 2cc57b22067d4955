// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Operations whose arguments do not say by their types how they travel.
#include <cstring>
#include <string>
#include <vector>

#include "isolation/channel/sealed_memory.hpp"
#include "isolation/worker/executor.hpp"

namespace flotilla::isolated {

namespace {

CUresult do_ping(worker_parts&, message_reader&, message_writer&) { return CUDA_SUCCESS; }

CUresult do_ctx_create(worker_parts& parts, message_reader& in, message_writer&) {
  auto const index = in.get<std::uint32_t>();
  auto const flags = in.get<unsigned>();
  auto const device = in.get<CUdevice>();
  CUcontext made = nullptr;
  CUresult answer = parts.api.ctx_create(&made, flags, device);
  if (answer != CUDA_SUCCESS) { return answer; }
  answer = parts.host.add_context(made);
  if (answer != CUDA_SUCCESS) {
    parts.host.remove_context(made);
    parts.api.ctx_destroy(made);
    return answer;
  }
  parts.objects.set(index, made);
  return CUDA_SUCCESS;
}

CUresult do_ctx_destroy(worker_parts& parts, message_reader& in, message_writer&) {
  auto const ending = parts.objects.get<CUcontext>(in.get<std::uint32_t>());
  parts.host.remove_context(ending);
  return parts.api.ctx_destroy(ending);
}

CUresult do_library_load_data(worker_parts& parts, message_reader& in, message_writer&) {
  auto const index = in.get<std::uint32_t>();
  auto const* const code = in.get<void const*>();  // in shared host memory
  CUlibrary made = nullptr;
  CUresult const answer =
      parts.api.library_load_data(&made, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (answer == CUDA_SUCCESS) { parts.objects.set(index, made); }
  return answer;
}

CUresult do_library_load_from_file(worker_parts& parts, message_reader& in, message_writer&) {
  auto const index = in.get<std::uint32_t>();
  auto const* const contents = in.get<void const*>();  // in shared host memory
  auto const bytes = in.get<std::size_t>();
  // Pass a file to the driver, not its contents. The driver does not know the size of contents in
  // memory, so it would read past the end of a file that was truncated.
  descriptor const file = make_sealed_memory("flotilla program", bytes);
  std::memcpy(mapping{file, bytes}.data(), contents, bytes);
  std::string const path = "/proc/self/fd/" + std::to_string(file.get());
  CUlibrary made = nullptr;
  CUresult const answer = parts.api.library_load_from_file(&made, path.c_str(), nullptr, nullptr, 0,
                                                           nullptr, nullptr, 0);
  if (answer == CUDA_SUCCESS) { parts.objects.set(index, made); }
  return answer;
}

CUresult do_module_load_data(worker_parts& parts, message_reader& in, message_writer&) {
  auto const index = in.get<std::uint32_t>();
  auto const* const code = in.get<void const*>();  // in shared host memory
  CUmodule made = nullptr;
  CUresult const answer = parts.api.module_load_data(&made, code);
  if (answer == CUDA_SUCCESS) { parts.objects.set(index, made); }
  return answer;
}

/// Answers the names of all kernels. The owner then asks for each kernel by its name, so that a
/// successor can find the same kernels.
CUresult do_library_enumerate_kernels(worker_parts& parts, message_reader& in,
                                      message_writer& out) {
  auto const library = parts.objects.get<CUlibrary>(in.get<std::uint32_t>());
  auto const first = in.get<std::uint32_t>();
  unsigned count = 0;
  CUresult answer = parts.api.library_get_kernel_count(&count, library);
  std::vector<CUkernel> kernels(count);
  if (answer == CUDA_SUCCESS && count != 0) {
    answer = parts.api.library_enumerate_kernels(kernels.data(), count, library);
  }
  // As many names as fit, from the first wanted one on. The owner asks again for the rest.
  std::size_t room = max_name_bytes;
  for (unsigned i = first; answer == CUDA_SUCCESS && i < count; ++i) {
    char const* name = nullptr;
    answer = parts.api.kernel_get_name(&name, kernels[i]);
    if (answer != CUDA_SUCCESS) { break; }
    std::size_t const bytes = std::strlen(name) + sizeof(std::uint32_t);
    if (bytes > room) { break; }
    room -= bytes;
    out.put_text(name);
  }
  return answer;
}

CUresult do_kernel_get_name(worker_parts& parts, message_reader& in, message_writer& out) {
  char const* name = nullptr;
  CUresult const answer =
      parts.api.kernel_get_name(&name, parts.objects.get<CUkernel>(in.get<std::uint32_t>()));
  if (answer == CUDA_SUCCESS) { out.put_text(name); }
  return answer;
}

/// Answers the size of each parameter of a kernel or function.
CUresult do_parameters_of(worker_parts& parts, message_reader& in, message_writer& out) {
  auto const index = in.get<std::uint32_t>();
  bool const is_kernel = in.get<std::uint8_t>() != 0;
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    CUresult answer = CUDA_ERROR_NOT_SUPPORTED;
    if (is_kernel) {
      answer =
          parts.api.kernel_get_param_info(parts.objects.get<CUkernel>(index), i, &offset, &bytes);
    } else if (parts.api.func_get_param_info != nullptr) {
      answer =
          parts.api.func_get_param_info(parts.objects.get<CUfunction>(index), i, &offset, &bytes);
    }
    if (answer == CUDA_ERROR_INVALID_VALUE) { return CUDA_SUCCESS; }  // there is no parameter `i`
    if (answer != CUDA_SUCCESS) { return answer; }
    out.put(static_cast<std::uint32_t>(bytes));
  }
}

CUresult do_pointer_get_attribute(worker_parts& parts, message_reader& in, message_writer& out) {
  auto const which = in.get<CUpointer_attribute>();
  auto const address = in.get<CUdeviceptr>();
  std::byte value[16] = {};
  CUresult const answer = parts.api.pointer_get_attribute(value, which, address);
  out.put_bytes(value, sizeof value);
  return answer;
}

}  // namespace

handler special_handler(operation what) noexcept {
  switch (what) {
    case operation::ping: return &do_ping;
    case operation::ctx_create: return &do_ctx_create;
    case operation::ctx_destroy: return &do_ctx_destroy;
    case operation::library_load_data: return &do_library_load_data;
    case operation::library_load_from_file: return &do_library_load_from_file;
    case operation::module_load_data: return &do_module_load_data;
    case operation::library_enumerate_kernels: return &do_library_enumerate_kernels;
    case operation::kernel_get_name: return &do_kernel_get_name;
    case operation::parameters_of: return &do_parameters_of;
    case operation::pointer_get_attribute: return &do_pointer_get_attribute;
    default: return nullptr;
  }
}

}  // namespace flotilla::isolated

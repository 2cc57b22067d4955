// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// Programs. Their images go to shared memory, where they stay for the successors of the worker.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <string>

#include "isolation/calls/calls.hpp"
#include "isolation/calls/forward.hpp"
#include "isolation/calls/image_bytes.hpp"
#include "isolation/calls/never_throws.hpp"
#include "isolation/calls/target.hpp"

namespace flotilla::isolated {

namespace {

using api = driver::table;

/// Copies an image to shared memory. Null: there is no memory, or no image.
void* copy_of_image(void const* code) {
  void const* const image = unwrapped_image(code);
  std::size_t const bytes = image_bytes(image, base().kind == device_kind::gpu);
  void* const copy = bytes != 0 ? owner::get().host().allocate(bytes) : nullptr;
  if (copy != nullptr) { std::memcpy(copy, image, bytes); }
  return copy;
}

/// Copies a file to shared memory: a successor must get the same program, even if the file is
/// another one by then, or gone.
CUresult copy_of_file(char const* path, void*& copy, std::size_t& bytes) {
  std::error_code failed;
  std::ifstream file{path, std::ios::binary};
  if (!file || std::filesystem::is_directory(path, failed)) { return CUDA_ERROR_FILE_NOT_FOUND; }
  std::string const contents{std::istreambuf_iterator<char>{file}, {}};
  if (contents.empty()) { return CUDA_ERROR_INVALID_IMAGE; }
  bytes = contents.size();
  copy = owner::get().host().allocate(bytes);
  if (copy == nullptr) { return CUDA_ERROR_OUT_OF_MEMORY; }
  std::memcpy(copy, contents.data(), bytes);
  return CUDA_SUCCESS;
}

/// Sends a request that makes a library or module. put(session) adds the source of the code.
template <class Handle, class Put>
CUresult load(isolated_device& on, operation what, std::uint32_t context, Handle* made, void* image,
              Put const& put) {
  constexpr object_kind kind = kind_of<Handle>;
  if (made == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  std::lock_guard const lock{on.mutex()};
  std::lock_guard const shared{owner::get().shared_mutex()};
  std::uint32_t const index = index_for(on, kind);
  if (index == 0) { return CUDA_ERROR_OUT_OF_MEMORY; }
  session one{on, what, context};
  one.out().put(index);
  put(one);
  handle_bits const handle = remember(on, kind, index, one);
  if (CUresult const answer = one.send(); answer != CUDA_SUCCESS) {
    forget_new(on, kind, index);
    return answer;
  }
  journal& objects = is_shared_kind(kind) ? owner::get().shared() : on.objects();
  objects.find(index)->image = image;
  *made = handle.template as<Handle>();
  return CUDA_SUCCESS;
}

/// Like `load`, with a copy of an image.
template <class Handle>
CUresult load_image(operation what, Handle* made, void const* code) {
  target const to = current_target();
  if (code == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (CUresult const lost = to.lost(); lost != CUDA_SUCCESS) { return lost; }
  void* const image = copy_of_image(code);
  if (image == nullptr) { return CUDA_ERROR_INVALID_IMAGE; }
  CUresult const answer =
      load(*to.device, what, to.context, made, image, [&](session& one) { one.out().put(image); });
  if (answer != CUDA_SUCCESS) { owner::get().host().free(image); }
  return answer;
}

CUresult CUDAAPI library_load_data(CUlibrary* made, void const* code, CUjit_option* options,
                                   void** values, unsigned count, CUlibraryOption* more,
                                   void** more_values, unsigned more_count) {
  if (current_target().device == nullptr) {
    return base().library_load_data(made, code, options, values, count, more, more_values,
                                    more_count);
  }
  if (count != 0 || more_count != 0) { return CUDA_ERROR_NOT_SUPPORTED; }
  return load_image(operation::library_load_data, made, code);
}

CUresult CUDAAPI library_load_from_file(CUlibrary* made, char const* file, CUjit_option* options,
                                        void** values, unsigned count, CUlibraryOption* more,
                                        void** more_values, unsigned more_count) {
  target const to = current_target();
  if (to.device == nullptr) {
    return base().library_load_from_file(made, file, options, values, count, more, more_values,
                                         more_count);
  }
  if (file == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (count != 0 || more_count != 0) { return CUDA_ERROR_NOT_SUPPORTED; }
  if (CUresult const lost = to.lost(); lost != CUDA_SUCCESS) { return lost; }
  void* image = nullptr;
  std::size_t bytes = 0;
  if (CUresult const status = copy_of_file(file, image, bytes); status != CUDA_SUCCESS) {
    return status;
  }
  CUresult const answer = load(*to.device, operation::library_load_from_file, to.context, made,
                               image, [&](session& one) {
                                 one.out().put(image);
                                 one.out().put(bytes);
                               });
  if (answer != CUDA_SUCCESS) { owner::get().host().free(image); }
  return answer;
}

CUresult CUDAAPI module_load_data(CUmodule* made, void const* code) {
  if (current_target().device == nullptr) { return base().module_load_data(made, code); }
  return load_image(operation::module_load_data, made, code);
}

/// Finds a function or module that was made from a library or one of its kernels. 0: there is none.
std::uint32_t find_user(journal const& objects, std::uint32_t library,
                        std::vector<std::uint32_t> const& kernels) noexcept {
  for (auto const& [index, one] : objects.entries()) {
    if (one.kind != object_kind::function && one.kind != object_kind::module) { continue; }
    for (std::uint32_t const each : one.made.uses) {
      bool const is_of_library =
          each == library || std::find(kernels.begin(), kernels.end(), each) != kernels.end();
      if (is_of_library) { return index; }
    }
  }
  return 0;
}

/// Ends what one device has made from a library.
void unload_from(isolated_device& on, std::uint32_t library,
                 std::vector<std::uint32_t> const& kernels) {
  std::lock_guard const lock{on.mutex()};
  while (std::uint32_t const user = find_user(on.objects(), library, kernels)) { forget(on, user); }
  if (on.shared_here().count(library) != 0 && on.lost() == CUDA_SUCCESS) {
    session one{on, operation::library_unload, 0};
    one.put_object(library);
    static_cast<void>(one.send());
  }
  on.shared_here().erase(library);
  for (std::uint32_t const each : kernels) { on.shared_here().erase(each); }
}

/// Needs no memory, apart from what the first call of a thread needs.
CUresult CUDAAPI library_unload(CUlibrary library) {
  handle_bits const bits = handle_bits::of(library);
  if (is_foreign(library) || library == nullptr) { return base().library_unload(library); }
  if (!is_open(bits, object_kind::library)) { return CUDA_ERROR_INVALID_HANDLE; }
  static_cast<void>(thread_state::get());
  journal& shared = owner::get().shared();
  std::vector<std::uint32_t> kernels;  // taken out, because the lock of a device is taken before
  {
    std::lock_guard const lock{owner::get().shared_mutex()};
    if (auto* const found = shared.find(bits.index())) { kernels.swap(found->children); }
  }
  for (int i = 0; i < max_devices; ++i) {
    isolated_device* const each = owner::get().device(i);
    if (each != nullptr) { unload_from(*each, bits.index(), kernels); }
  }
  std::lock_guard const lock{owner::get().shared_mutex()};
  if (auto* const found = shared.find(bits.index())) { kernels.swap(found->children); }
  shared.close(bits.index(), &free_image);
  return CUDA_SUCCESS;
}

/// Returns a text that stays as long as the process.
char const* kept(std::string_view text) {
  static std::mutex mutex;
  static auto& all = *new std::set<std::string, std::less<>>;
  std::lock_guard const lock{mutex};
  return all.emplace(text).first->c_str();
}

CUresult CUDAAPI library_enumerate_kernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  target to;
  to.look(library);
  to.decide();
  if (to.device == nullptr) { return base().library_enumerate_kernels(kernels, count, library); }
  if (!is_open(handle_bits::of(library), object_kind::library)) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  std::uint32_t const index = handle_bits::of(library).index();
  {
    std::lock_guard const lock{to.device->mutex()};
    if (CUresult const status = to.device->ensure_shared(index)) { return status; }
  }
  std::vector<std::string> names;
  while (names.size() < count) {
    session one{*to.device, operation::library_enumerate_kernels, 0};
    one.put_object(index);
    one.out().put(static_cast<std::uint32_t>(names.size()));
    if (CUresult const answer = one.send(); answer != CUDA_SUCCESS) { return answer; }
    std::size_t const before = names.size();
    while (names.size() < count) {
      std::string const name{one.in().text()};
      if (!one.in().ok()) { break; }
      names.push_back(name);
    }
    if (names.size() == before) { return CUDA_ERROR_INVALID_VALUE; }
  }
  for (unsigned i = 0; i < count; ++i) {
    CUresult const answer =
        forwarded<effect::once, operation::library_get_kernel, &api::library_get_kernel>(
            &kernels[i], library, names[i].c_str());
    if (answer != CUDA_SUCCESS) { return answer; }
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI kernel_get_name(char const** name, CUkernel kernel) {
  target to;
  to.look(kernel);
  to.decide();
  if (to.device == nullptr) { return base().kernel_get_name(name, kernel); }
  if (name == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  handle_bits const bits = handle_bits::of(kernel);
  if (!is_open(bits, object_kind::kernel)) { return CUDA_ERROR_INVALID_HANDLE; }
  {
    std::lock_guard const lock{to.device->mutex()};
    if (CUresult const status = to.device->ensure_shared(bits.index())) { return status; }
  }
  session one{*to.device, operation::kernel_get_name, 0};
  one.put_object(bits.index());
  CUresult const answer = one.send();
  if (answer == CUDA_SUCCESS) { *name = kept(one.in().text()); }
  return answer;
}

}  // namespace

void put_library_calls(driver::table& into) {
  into.library_load_data = never_throws<&library_load_data>;
  into.library_load_from_file = never_throws<&library_load_from_file>;
  into.library_unload = never_throws<&library_unload>;
  into.library_enumerate_kernels = never_throws<&library_enumerate_kernels>;
  into.kernel_get_name = never_throws<&kernel_get_name>;
  into.module_load_data = never_throws<&module_load_data>;
}

}  // namespace flotilla::isolated

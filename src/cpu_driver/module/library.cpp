// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/module/library.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/log.hpp"
#include "base/refusal.hpp"
#include "cpu_driver/context/context.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/kernel/image_format.hpp"
#include "cpu_driver/module/module.hpp"

namespace flotilla::cpu_driver {

std::shared_ptr<function_settings> kernel::settings(int device) {
  std::lock_guard const lock(mutex_);
  auto& found = settings_[device];
  if (!found) { found = std::make_shared<function_settings>(); }
  return found;
}

CUresult load_image(void const* code, std::size_t bytes,
                    std::shared_ptr<loaded_image const>& loaded) {
  if (!loaded_image::recognised(code, bytes)) { return CUDA_ERROR_INVALID_IMAGE; }
  loaded = loaded_image::load(code, bytes);
  if (loaded) { return CUDA_SUCCESS; }
#ifdef FLOTILLA_CPU_DROPIN
  // A program that uses the driver API gets only the status.
  base::log_format(log_level::error, "CPU driver: cannot load a CPU image: %s",
                   loaded_image::load_error());
#endif
  base::note_refusal(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, loaded_image::load_error());
  return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
}

CUresult read_file(char const* path, std::vector<std::byte>& bytes) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(std::fopen(path, "rb"), &std::fclose);
  if (!file) { return CUDA_ERROR_FILE_NOT_FOUND; }
  std::array<std::byte, 65536> block;
  while (std::size_t const got = std::fread(block.data(), 1, block.size(), file.get())) {
    bytes.insert(bytes.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got));
  }
  return std::ferror(file.get()) ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_SUCCESS;
}

CUresult library::create(void const* code, std::size_t bytes, CUlibrary& made) {
  std::shared_ptr<loaded_image const> first;
  if (CUresult const status = load_image(code, bytes, first)) { return status; }
  auto const* const start = static_cast<std::byte const*>(code);
  std::vector<std::byte> copy(start, start + cpu_image_bytes(code, bytes));
  made = library::table().open(std::move(copy), std::move(first))->self();
  return CUDA_SUCCESS;
}

library::library(CUlibrary self, std::vector<std::byte> code,
                 std::shared_ptr<loaded_image const> first)
    : self_(self), code_(std::move(code)), first_(std::move(first)) {
  kernels_.reserve(first_->kernels().size());
  for (cpu::kernel_record const& each : first_->kernels()) {
    kernels_.push_back(kernel::table().open(self_, each)->self());
  }
  first_->for_each_twin([this](cpu::kernel_record const& each) {
    twins_.push_back(kernel::table().open(self_, each)->self());
  });
}

library::~library() {
  for (CUkernel const each : kernels_) { kernel::table().close(each); }
  for (CUkernel const each : twins_) { kernel::table().close(each); }
  for (auto const& [owner, here] : modules_) {
    // Close the module through its context. The context may be ending in another thread, which may
    // close the same module. `modules()` ensures that the module is closed only once.
    if (auto const live = context::table().find(owner); live && live->id() == here.context_id) {
      static_cast<void>(live->modules().close(here.module));
    }
  }
}

CUkernel library::find_kernel(std::string_view name) const {
  cpu::kernel_record const* const wanted = first_->find(name);
  if (wanted == nullptr) { return nullptr; }
  auto const is_wanted = [wanted](CUkernel each) {
    auto const known = kernel::table().find(each);
    return known && &known->record() == wanted;
  };
  for (std::vector<CUkernel> const* const list : {&kernels_, &twins_}) {
    auto const found = std::find_if(list->begin(), list->end(), is_wanted);
    if (found != list->end()) { return *found; }
  }
  return nullptr;
}

CUresult library::module_in(context& owner, CUmodule& found) {
  std::lock_guard const lock(mutex_);
  loaded& here = modules_[owner.self()];
  if (here.context_id != owner.id()) { here = {nullptr, owner.id()}; }
  CUmodule& known = here.module;
  if (known == nullptr) {
    // Remove the entries of destroyed contexts. Otherwise the map would keep growing if the
    // application creates and destroys contexts while the library is loaded.
    std::erase_if(modules_, [&](auto const& entry) {
      return entry.second.module != nullptr && !context::table().find(entry.first);
    });
    auto image = first_;
    if (first_taken_) {
      if (CUresult const status = load_image(code_.data(), code_.size(), image)) { return status; }
    }
    known = module::create(owner, std::move(image), self_);
    first_taken_ = true;
  }
  found = known;
  return CUDA_SUCCESS;
}

CUresult function_of(CUkernel handle, context& owner, CUfunction& found) {
  auto const asked = kernel::table().find(handle);
  if (!asked) { return CUDA_ERROR_INVALID_HANDLE; }
  auto const found_library = library::table().find(asked->library_handle());
  if (!found_library) { return CUDA_ERROR_INVALID_HANDLE; }
  CUmodule loaded = nullptr;
  if (CUresult const status = found_library->module_in(owner, loaded)) { return status; }
  auto const there = module::table().find(loaded);
  if (!there) { return CUDA_ERROR_INVALID_HANDLE; }
  found = there->get_function(asked->record().name, asked->settings(owner.home().ordinal()));
  return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace flotilla::cpu_driver

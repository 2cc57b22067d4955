// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/module/module.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "cpu_driver/context/context.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/memory/memory_map.hpp"

namespace flotilla::cpu_driver {

CUfunc_cache function::cache_preference() const noexcept {
  // relaxed: no other memory depends on the settings
  for (auto const* const set :
       std::initializer_list<std::atomic<CUfunc_cache> const*>{&own_cache_, &settings_->cache}) {
    CUfunc_cache const preferred = set->load(std::memory_order_relaxed);
    if (preferred != CU_FUNC_CACHE_PREFER_NONE) { return preferred; }
  }
  return owner_.cache_config.load(std::memory_order_relaxed);
}

CUmodule module::create(context& owner, std::shared_ptr<loaded_image const> image,
                        CUlibrary library) {
  auto const made = module::table().open(owner, std::move(image), library);
  owner.modules().add(made->self(), [](CUmodule handle) { return table().close(handle); });
  return made->self();
}

module::module(CUmodule self, context& owner, std::shared_ptr<loaded_image const> image,
               CUlibrary library) :self_(self),
    owner_(owner), image_(std::move(image)), library_(library), kept_image_(image_) {
  for (cpu::global_record const& each : image_->globals()) {
    if (each.bytes == 0) { continue; }
    static_cast<void>(memory_map::of_process().adopt(each.address, each.bytes, memory_kind::global,
                                                     owner_.home().memory(), owner_.self()));
  }
}

module::~module() {
  for (auto const& [record, handle] : functions_) { function::table().close(handle); }
  for (cpu::global_record const& each : image_->globals()) {
    memory_map::of_process().free(reinterpret_cast<CUdeviceptr>(each.address), memory_kind::global);
  }
  // Launches that are still queued may use the image.
  owner_.home().thread().release_after_pending(std::move(kept_image_));
}

CUfunction module::get_function(std::string_view name,
                                std::shared_ptr<function_settings> settings) {
  cpu::kernel_record const* const found = image_->find(name);
  if (found == nullptr) { return nullptr; }
  std::lock_guard const lock(mutex_);
  CUfunction& handle = functions_[found];
  if (handle == nullptr) {
    if (!settings) { settings = std::make_shared<function_settings>(); }
    handle = function::table().open(owner_, self_, *image_, *found, std::move(settings))->self();
  }
  return handle;
}

cpu::global_record const* module::find_global(std::string_view name) const noexcept {
  auto const globals = image_->globals();
  auto const found =
      std::find_if(globals.begin(), globals.end(),
                   [&](cpu::global_record const& each) { return each.name == name; });
  return found != globals.end() ? &*found : nullptr;
}

}  // namespace flotilla::cpu_driver

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A module is a context's private copy of a CPU image, with the functions in that copy.

#include <cuda.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "cpu_driver/base/handle_table.hpp"
#include "cpu_driver/kernel/loaded_image.hpp"
#include "cpu_driver/properties/device_properties.hpp"
#include "cpu_driver/stream/deferred_release.hpp"

namespace flotilla::cpu_driver {

class context;

/// The settings of a function. All functions of one library kernel on one device share one object.
struct function_settings {
  std::atomic<int> max_dynamic_shared{static_cast<int>(properties::default_shared_bytes)};  // bytes
  std::atomic<int> shared_carveout{-1};  // in percent; -1: the default
  std::atomic<CUfunc_cache> cache{CU_FUNC_CACHE_PREFER_NONE};
};

class function {
 public:
  using handles = handle_table<function, CUfunction, handle_kind::function>;
  using ref = handles::ref;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  function(CUfunction self, context& owner, CUmodule its_module, loaded_image const& image,
           cpu::kernel_record const& record, std::shared_ptr<function_settings> settings) noexcept
      : self_(self),
        owner_(owner),
        module_(its_module),
        image_(image),
        record_(record),
        settings_(std::move(settings)) {}

  [[nodiscard]] CUfunction self() const noexcept { return self_; }
  [[nodiscard]] context& owner() const noexcept { return owner_; }
  [[nodiscard]] CUmodule module_handle() const noexcept { return module_; }
  [[nodiscard]] loaded_image const& image() const noexcept { return image_; }
  [[nodiscard]] cpu::kernel_record const& record() const noexcept { return record_; }
  [[nodiscard]] function_settings& settings() const noexcept { return *settings_; }

  /// Returns the first cache preference that is set: of this function, of its kernel on this
  /// device, or of the context. On a CPU device, a cache preference has no effect.
  [[nodiscard]] CUfunc_cache cache_preference() const noexcept;
  void prefer_cache(CUfunc_cache preferred) noexcept {
    // relaxed: no other memory depends on the preference
    own_cache_.store(preferred, std::memory_order_relaxed);
  }

 private:
  CUfunction const self_;
  context& owner_;  // lives longer than its modules and functions
  CUmodule const module_;
  loaded_image const& image_;
  cpu::kernel_record const& record_;
  std::shared_ptr<function_settings> const settings_;
  std::atomic<CUfunc_cache> own_cache_{CU_FUNC_CACHE_PREFER_NONE};
};

class module {
 public:
  using handles = handle_table<module, CUmodule, handle_kind::module>;
  using ref = handles::ref;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  /// Creates a module in the context `owner`. The context closes the module when the context ends.
  /// `library` is null if the module belongs to no library.
  [[nodiscard]] static CUmodule create(context& owner, std::shared_ptr<loaded_image const> image,
                                       CUlibrary library);

  module(CUmodule self, context& owner, std::shared_ptr<loaded_image const> image,
         CUlibrary library);
  ~module();
  module(module const&) = delete;
  module& operator=(module const&) = delete;

  [[nodiscard]] CUmodule self() const noexcept { return self_; }
  [[nodiscard]] context& owner() const noexcept { return owner_; }
  [[nodiscard]] CUlibrary library() const noexcept { return library_; }
  [[nodiscard]] std::shared_ptr<loaded_image const> const& image() const noexcept { return image_; }

  /// Returns the function of a kernel, or null if there is no kernel with this name. All calls for
  /// one kernel return the same handle. Only the first of these calls uses `settings`.
  [[nodiscard]] CUfunction get_function(std::string_view name,
                                        std::shared_ptr<function_settings> settings = nullptr);
  /// Returns null if there is no variable with this name.
  [[nodiscard]] cpu::global_record const* find_global(std::string_view name) const noexcept;

 private:
  CUmodule const self_;
  context& owner_;
  std::shared_ptr<loaded_image const> const image_;
  CUlibrary const library_;
  deferred_release::entry kept_image_;  // passed to the device thread by the destructor
  std::mutex mutex_;
  std::unordered_map<cpu::kernel_record const*, CUfunction> functions_;  // guarded by mutex_
};

}  // namespace flotilla::cpu_driver

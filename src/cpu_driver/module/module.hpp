#pragma once
// Modules: a context's private copy of a CPU image, and the functions in it.

#include <cuda.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "cpu_driver/device_properties.hpp"
#include "cpu_driver/loaded_image.hpp"

namespace flotilla::cpu_driver {

class context;

/// What may be set of a function. Shared between a kernel of a library and its functions on a
/// device.
struct function_settings {
  std::atomic<int> max_dynamic_shared{static_cast<int>(properties::default_shared_bytes)};  // bytes
  std::atomic<int> shared_carveout{-1};  // percent
  std::atomic<CUfunc_cache> cache{CU_FUNC_CACHE_PREFER_NONE};
};

class function {
 public:
  function(CUfunction self, context& owner, CUmodule of, loaded_image const& image,
           cpu::kernel_record const& record, std::shared_ptr<function_settings> settings) noexcept
      : self_(self),
        owner_(owner),
        of_(of),
        image_(image),
        record_(record),
        settings_(std::move(settings)) {}

  [[nodiscard]] CUfunction self() const noexcept { return self_; }
  [[nodiscard]] context& owner() const noexcept { return owner_; }
  [[nodiscard]] CUmodule of() const noexcept { return of_; }
  [[nodiscard]] loaded_image const& image() const noexcept { return image_; }
  [[nodiscard]] cpu::kernel_record const& record() const noexcept { return record_; }
  [[nodiscard]] function_settings& settings() const noexcept { return *settings_; }

  /// What launches of it prefer: what was set of this very function, which is of one context; else
  /// of its kernel on this device; else of its context. There is one cache here: nothing follows.
  [[nodiscard]] CUfunc_cache cache_preference() const noexcept;
  void prefer_cache(CUfunc_cache preferred) noexcept {
    own_cache_.store(preferred, std::memory_order_relaxed);  // a setting: orders nothing
  }

 private:
  CUfunction const self_;
  context& owner_;  // outlives its modules, and they their functions
  CUmodule const of_;
  loaded_image const& image_;
  cpu::kernel_record const& record_;
  std::shared_ptr<function_settings> const settings_;
  std::atomic<CUfunc_cache> own_cache_{CU_FUNC_CACHE_PREFER_NONE};
};

class module {
 public:
  /// Makes one in `owner`, which will end it. `library` is null for a module of its own.
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

  /// The same handle each time; null when there is no such kernel. `settings` is for the first
  /// time.
  [[nodiscard]] CUfunction get_function(std::string_view name,
                                        std::shared_ptr<function_settings> settings = nullptr);
  /// Null when there is no such variable.
  [[nodiscard]] cpu::global_record const* find_global(std::string_view name) const noexcept;

 private:
  CUmodule const self_;
  context& owner_;
  std::shared_ptr<loaded_image const> const image_;
  CUlibrary const library_;
  std::mutex mutex_;
  std::unordered_map<cpu::kernel_record const*, CUfunction> functions_;  // guarded by mutex_
};

}  // namespace flotilla::cpu_driver

#pragma once
// Libraries: one image for all contexts. A context gets a private copy, a module, when it first
// needs one. A kernel of a library means its function in the context in which it is used.

#include <cuda.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cpu_driver/base/handle_table.hpp"
#include "cpu_driver/kernel/loaded_image.hpp"

namespace flotilla::cpu_driver {

class context;
struct function_settings;

class kernel {
 public:
  using handles = handle_table<kernel, CUkernel, handle_kind::kernel>;
  using ref = handles::ref;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  kernel(CUkernel self, CUlibrary owner, cpu::kernel_record const& record) noexcept
      : self_(self), library_(owner), record_(record) {}

  [[nodiscard]] CUkernel self() const noexcept { return self_; }
  [[nodiscard]] CUlibrary library_handle() const noexcept { return library_; }
  /// In the library's own copy of the image: for names and parameters, not for running.
  [[nodiscard]] cpu::kernel_record const& record() const noexcept { return record_; }
  /// The settings that its functions on that device share.
  [[nodiscard]] std::shared_ptr<function_settings> settings(int device);

 private:
  CUkernel const self_;
  CUlibrary const library_;
  cpu::kernel_record const& record_;
  std::mutex mutex_;
  std::map<int, std::shared_ptr<function_settings>> settings_;  // by device; guarded by mutex_
};

class library {
 public:
  using handles = handle_table<library, CUlibrary, handle_kind::library>;
  using ref = handles::ref;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  /// Copies the image. CUDA_ERROR_INVALID_IMAGE if `code` is not a CPU image.
  [[nodiscard]] static CUresult create(void const* code, std::size_t bytes, CUlibrary& made);

  library(CUlibrary self, std::vector<std::byte> code, std::shared_ptr<loaded_image const> first);
  ~library();
  library(library const&) = delete;
  library& operator=(library const&) = delete;

  [[nodiscard]] CUlibrary self() const noexcept { return self_; }
  [[nodiscard]] std::vector<CUkernel> const& kernels() const noexcept { return kernels_; }
  /// Null if there is no kernel of that name.
  [[nodiscard]] CUkernel find_kernel(std::string_view name) const;
  /// This library's module in that context. Loads it on the first call.
  [[nodiscard]] CUresult module_in(context& owner, CUmodule& found);

 private:
  CUlibrary const self_;
  std::vector<std::byte> const code_;
  // The first copy gives names and parameters as long as the library lives. It is also the image of
  // the module in the first context, whose variables it holds.
  std::shared_ptr<loaded_image const> const first_;
  std::vector<CUkernel> kernels_;
  std::mutex mutex_;
  bool first_taken_ = false;  // guarded by mutex_
  struct loaded {
    CUmodule module = nullptr;
    unsigned long long context_id = 0;  // handles of primary contexts are reused, ids are not
  };
  std::unordered_map<CUcontext, loaded> modules_;  // guarded by mutex_; some contexts may be gone
};

/// A kernel's function in a context. Cheap once the library has been loaded there.
[[nodiscard]] CUresult function_of(CUkernel handle, context& owner, CUfunction& found);

/// Loads a private copy. If a CPU image cannot be loaded, prints the reason on stderr.
[[nodiscard]] CUresult load_image(void const* code, std::size_t bytes,
                                  std::shared_ptr<loaded_image const>& loaded);

/// Reads a file. CUDA_ERROR_FILE_NOT_FOUND if it cannot be read.
[[nodiscard]] CUresult read_file(char const* path, std::vector<std::byte>& bytes);

}  // namespace flotilla::cpu_driver

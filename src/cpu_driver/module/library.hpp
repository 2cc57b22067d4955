#pragma once
// Libraries: an image for every context. Each context gets its private copy, a module, when it
// first needs one; kernels are handles that mean the function of whatever context they are used in.

#include <cuda.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cpu_driver/loaded_image.hpp"

namespace flotilla::cpu_driver {

class context;
struct function_settings;

class kernel {
 public:
  kernel(CUkernel self, CUlibrary of, cpu::kernel_record const& record) noexcept
      : self_(self), of_(of), record_(record) {}

  [[nodiscard]] CUkernel self() const noexcept { return self_; }
  [[nodiscard]] CUlibrary of() const noexcept { return of_; }
  /// Of the library's own copy of the image: for names and parameters, not to be run.
  [[nodiscard]] cpu::kernel_record const& record() const noexcept { return record_; }
  /// What its functions on that device share.
  [[nodiscard]] std::shared_ptr<function_settings> settings(int device);

 private:
  CUkernel const self_;
  CUlibrary const of_;
  cpu::kernel_record const& record_;
  std::mutex mutex_;
  std::map<int, std::shared_ptr<function_settings>> settings_;  // by device; guarded by mutex_
};

class library {
 public:
  /// Null handle and a status when `code` is no CPU image. The bytes are copied.
  [[nodiscard]] static CUresult create(void const* code, std::size_t bytes, CUlibrary& made);

  library(CUlibrary self, std::vector<std::byte> code, std::shared_ptr<loaded_image const> first);
  ~library();
  library(library const&) = delete;
  library& operator=(library const&) = delete;

  [[nodiscard]] CUlibrary self() const noexcept { return self_; }
  [[nodiscard]] std::vector<CUkernel> const& kernels() const noexcept { return kernels_; }
  /// Null when there is none of that name.
  [[nodiscard]] CUkernel find_kernel(std::string_view name) const;
  /// This library's module in that context, loaded when it is not there yet.
  [[nodiscard]] CUresult module_in(context& owner, CUmodule& found);

 private:
  CUlibrary const self_;
  std::vector<std::byte> const code_;
  // The first copy: names and parameters for as long as the library lives, and the module of the
  // first context that asks, whose variables it then holds.
  std::shared_ptr<loaded_image const> const first_;
  std::vector<CUkernel> kernels_;
  std::mutex mutex_;
  bool first_taken_ = false;  // guarded by mutex_
  struct loaded {
    CUmodule module = nullptr;
    unsigned long long context_id = 0;  // a primary context's handle comes again, its id does not
  };
  std::unordered_map<CUcontext, loaded> modules_;  // guarded by mutex_; some may have ended
};

/// A kernel's function in a context. Cheap once it has been loaded there.
[[nodiscard]] CUresult function_of(CUkernel handle, context& owner, CUfunction& found);

/// Loads a private copy and says why not on stderr where the image is one but cannot be loaded.
[[nodiscard]] CUresult load_image(void const* code, std::size_t bytes,
                                  std::shared_ptr<loaded_image const>& loaded);

/// The bytes of a file. CUDA_ERROR_FILE_NOT_FOUND when it cannot be read.
[[nodiscard]] CUresult read_file(char const* path, std::vector<std::byte>& bytes);

}  // namespace flotilla::cpu_driver

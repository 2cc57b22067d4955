// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A library is one image for all contexts. When a context first uses the library, the library loads
// a module into the context. A module is a private copy of the image. A kernel of a library has one
// function in each context.

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
  /// The kernel's record in the library's first copy of the image. Use only the name and the
  /// parameters of this record. A launch uses the record in the module of the launch's context.
  [[nodiscard]] cpu::kernel_record const& record() const noexcept { return record_; }
  /// The settings that all functions of this kernel on `device` share.
  [[nodiscard]] std::shared_ptr<function_settings> settings(int device);

 private:
  CUkernel const self_;
  CUlibrary const library_;
  cpu::kernel_record const& record_;
  std::mutex mutex_;
  std::map<int, std::shared_ptr<function_settings>> settings_;  // key: device; guarded by mutex_
};

class library {
 public:
  using handles = handle_table<library, CUlibrary, handle_kind::library>;
  using ref = handles::ref;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  /// Copies the image and opens a library. Returns CUDA_ERROR_INVALID_IMAGE if `code` is not a CPU
  /// image.
  [[nodiscard]] static CUresult create(void const* code, std::size_t bytes, CUlibrary& made);

  library(CUlibrary self, std::vector<std::byte> code, std::shared_ptr<loaded_image const> first);
  ~library();
  library(library const&) = delete;
  library& operator=(library const&) = delete;

  [[nodiscard]] CUlibrary self() const noexcept { return self_; }
  [[nodiscard]] std::vector<CUkernel> const& kernels() const noexcept { return kernels_; }
  /// Finds a kernel or a twin. Returns null if there is none with this name.
  [[nodiscard]] CUkernel find_kernel(std::string_view name) const;
  /// Finds this library's module in the context `owner`. Loads the module on the first call.
  [[nodiscard]] CUresult module_in(context& owner, CUmodule& found);

 private:
  CUlibrary const self_;
  std::vector<std::byte> const code_;
  // The first copy of the image. The library reads names and parameters from this copy, so the copy
  // must live as long as the library. The first module that the library loads also uses this copy,
  // including its variables.
  std::shared_ptr<loaded_image const> const first_;
  std::vector<CUkernel> kernels_;
  std::vector<CUkernel> twins_;
  std::mutex mutex_;
  bool first_taken_ = false;  // whether a module uses `first_`; guarded by mutex_
  struct loaded {
    CUmodule module = nullptr;
    unsigned long long context_id = 0;  // handles of primary contexts are reused, ids are not
  };
  // Guarded by mutex_; may contain destroyed contexts.
  std::unordered_map<CUcontext, loaded> modules_;
};

/// Finds the function of a kernel in the context `owner`. The first call for a library in a context
/// loads the library's module into the context.
[[nodiscard]] CUresult function_of(CUkernel handle, context& owner, CUfunction& found);

/// Loads a private copy of an image. Returns CUDA_ERROR_INVALID_IMAGE if `code` is not a CPU image.
/// If the dynamic loader fails, prints the reason to stderr and returns
/// CUDA_ERROR_SHARED_OBJECT_INIT_FAILED.
[[nodiscard]] CUresult load_image(void const* code, std::size_t bytes,
                                  std::shared_ptr<loaded_image const>& loaded);

/// Reads a file. Returns CUDA_ERROR_FILE_NOT_FOUND if the file cannot be opened or read.
[[nodiscard]] CUresult read_file(char const* path, std::vector<std::byte>& bytes);

}  // namespace flotilla::cpu_driver

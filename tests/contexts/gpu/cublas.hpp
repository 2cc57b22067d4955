// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opens cuBLAS with dlopen, so that tests can be skipped if the library is missing.

#include <cublas_v2.h>
#include <dlfcn.h>

#include <string>

namespace flotilla::test {

class cublas {
 public:
  cublas() {
    constexpr char const* names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
    void* library = nullptr;
    for (char const* const each : names) {
      library = library != nullptr ? library : dlopen(each, RTLD_NOW | RTLD_LOCAL);
    }
#ifdef FLOTILLA_TEST_CUBLAS
    if (library == nullptr) { library = dlopen(FLOTILLA_TEST_CUBLAS, RTLD_NOW | RTLD_LOCAL); }
#endif
    if (library == nullptr) {
      why_not_ = dlerror();
      return;
    }
    take(library, create, "cublasCreate_v2");
    take(library, destroy, "cublasDestroy_v2");
    take(library, set_stream, "cublasSetStream_v2");
    take(library, sgemm, "cublasSgemm_v2");
  }
  [[nodiscard]] bool there() const { return why_not_.empty(); }
  [[nodiscard]] std::string const& why_not() const { return why_not_; }

  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSgemm_v2) sgemm = nullptr;

 private:
  template <class Function>
  void take(void* library, Function& into, char const* name) {
    into = reinterpret_cast<Function>(dlsym(library, name));
    if (into == nullptr) { why_not_ += std::string{"the library has no "} + name + "; "; }
  }
  std::string why_not_;
};

inline cublas const& blas() {
  static cublas const opened;  // no dlclose, because contexts use cuBLAS until the process ends
  return opened;
}

}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// cuBLAS and cuSOLVER, opened when the program runs.

#include <cublas_v2.h>
#include <cusolverDn.h>
#include <dlfcn.h>

#include <initializer_list>
#include <stdexcept>
#include <string>

namespace cholesky {

/// The functions of cuBLAS and cuSOLVER that this program calls.
class libraries {
 public:
  libraries() {
    void* const blas = open({"libcublas.so.13", "libcublas.so.12", "libcublas.so"});
    void* const solver = open({"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"});
    if (!error.empty()) { return; }
    take(blas, blas_create, "cublasCreate_v2");
    take(blas, blas_destroy, "cublasDestroy_v2");
    take(blas, blas_set_stream, "cublasSetStream_v2");
    take(blas, dgemm, "cublasDgemm_v2");
    take(blas, sgemm, "cublasSgemm_v2");
    take(blas, dsyrk, "cublasDsyrk_v2");
    take(blas, ssyrk, "cublasSsyrk_v2");
    take(blas, dtrsm, "cublasDtrsm_v2");
    take(blas, strsm, "cublasStrsm_v2");
    take(solver, solver_create, "cusolverDnCreate");
    take(solver, solver_destroy, "cusolverDnDestroy");
    take(solver, solver_set_stream, "cusolverDnSetStream");
    take(solver, potrf_size, "cusolverDnXpotrf_bufferSize");
    take(solver, potrf, "cusolverDnXpotrf");
    take(solver, create_params, "cusolverDnCreateParams");
    take(solver, destroy_params, "cusolverDnDestroyParams");
  }

  std::string error;
  decltype(&cublasCreate_v2) blas_create = nullptr;
  decltype(&cublasDestroy_v2) blas_destroy = nullptr;
  decltype(&cublasSetStream_v2) blas_set_stream = nullptr;
  decltype(&cublasDgemm_v2) dgemm = nullptr;
  decltype(&cublasSgemm_v2) sgemm = nullptr;
  decltype(&cublasDsyrk_v2) dsyrk = nullptr;
  decltype(&cublasSsyrk_v2) ssyrk = nullptr;
  decltype(&cublasDtrsm_v2) dtrsm = nullptr;
  decltype(&cublasStrsm_v2) strsm = nullptr;
  decltype(&cusolverDnCreate) solver_create = nullptr;
  decltype(&cusolverDnDestroy) solver_destroy = nullptr;
  decltype(&cusolverDnSetStream) solver_set_stream = nullptr;
  decltype(&cusolverDnXpotrf_bufferSize) potrf_size = nullptr;
  decltype(&cusolverDnXpotrf) potrf = nullptr;
  decltype(&cusolverDnCreateParams) create_params = nullptr;
  decltype(&cusolverDnDestroyParams) destroy_params = nullptr;

 private:
  void* open(std::initializer_list<char const*> names) {
    for (char const* each : names) {
      if (void* const library = dlopen(each, RTLD_NOW | RTLD_LOCAL)) { return library; }
    }
    if (char const* why = dlerror()) { error = why; }
    return nullptr;
  }
  template <class Function>
  void take(void* library, Function& into, char const* name) {
    into = reinterpret_cast<Function>(dlsym(library, name));
    if (into == nullptr) { error = std::string{name} + " is missing"; }
  }
};

/// @throws std::runtime_error  The libraries cannot be used.
inline libraries const& api() {
  static libraries const opened;
  if (!opened.error.empty()) {
    throw std::runtime_error("cuBLAS and cuSOLVER cannot be used: " + opened.error);
  }
  return opened;
}

/// @throws std::runtime_error  The call failed.
inline void check(int status, char const* call) {
  if (status != 0) {
    throw std::runtime_error(std::string{call} + " failed with status " + std::to_string(status));
  }
}

}  // namespace cholesky

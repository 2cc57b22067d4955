// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// cuBLAS and cuSOLVER, opened when the program runs.

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <stdexcept>
#include <string>

#include "shared_library.hpp"

namespace cholesky {

/// The functions of cuBLAS and cuSOLVER that this program calls.
struct libraries {
  libraries() {
    shared_library const blas{"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
    shared_library const solver{"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"};
    blas.take(blas_create, "cublasCreate_v2");
    blas.take(blas_destroy, "cublasDestroy_v2");
    blas.take(blas_set_stream, "cublasSetStream_v2");
    blas.take(dgemm, "cublasDgemm_v2");
    blas.take(sgemm, "cublasSgemm_v2");
    blas.take(dsyrk, "cublasDsyrk_v2");
    blas.take(ssyrk, "cublasSsyrk_v2");
    blas.take(dtrsm, "cublasDtrsm_v2");
    blas.take(strsm, "cublasStrsm_v2");
    solver.take(solver_create, "cusolverDnCreate");
    solver.take(solver_destroy, "cusolverDnDestroy");
    solver.take(solver_set_stream, "cusolverDnSetStream");
    solver.take(potrf_size, "cusolverDnXpotrf_bufferSize");
    solver.take(potrf, "cusolverDnXpotrf");
    solver.take(create_params, "cusolverDnCreateParams");
    solver.take(destroy_params, "cusolverDnDestroyParams");
  }

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
};

/// @throws std::runtime_error  The libraries cannot be used.
inline libraries const& api() {
  try {
    static libraries const opened;
    return opened;
  } catch (std::runtime_error const& why) {
    throw std::runtime_error(std::string{"cuBLAS and cuSOLVER cannot be used: "} + why.what());
  }
}

/// @throws std::runtime_error  The call failed.
inline void check(int status, char const* call) {
  if (status != 0) {
    throw std::runtime_error(std::string{call} + " failed with status " + std::to_string(status));
  }
}

}  // namespace cholesky

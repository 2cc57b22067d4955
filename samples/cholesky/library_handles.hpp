// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handles of cuBLAS and cuSOLVER, and the calls that this program makes.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "cuda_api.hpp"

namespace cholesky {

template <class T>
inline constexpr cudaDataType type_of = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;

/// What the callables of one stream need. A library handle must not be used by two threads at the
/// same time.
class handles {
 public:
  explicit handles(CUstream_st* stream) {
    check(api().blas_create(&blas), "cublasCreate");
    check(api().blas_set_stream(blas, stream), "cublasSetStream");
    check(api().solver_create(&solver), "cusolverDnCreate");
    check(api().solver_set_stream(solver, stream), "cusolverDnSetStream");
    check(api().create_params(&params), "cusolverDnCreateParams");
  }
  handles(handles const&) = delete;
  handles& operator=(handles const&) = delete;
  ~handles() {
    api().destroy_params(params);
    api().solver_destroy(solver);
    api().blas_destroy(blas);
  }

  cublasHandle_t blas = nullptr;
  cusolverDnHandle_t solver = nullptr;
  cusolverDnParams_t params = nullptr;
  std::vector<std::byte> host_workspace{};
};

/// How much memory cusolverDnXpotrf needs for a matrix.
struct workspace_size {
  std::size_t device = 0;
  std::size_t host = 0;
};

template <class T>
workspace_size potrf_workspace(handles& with, std::size_t rows, T* matrix) {
  workspace_size made;
  auto const n = static_cast<std::int64_t>(rows);
  check(api().potrf_size(with.solver, with.params, CUBLAS_FILL_MODE_LOWER, n, type_of<T>, matrix, n,
                         type_of<T>, &made.device, &made.host),
        "cusolverDnXpotrf_bufferSize");
  return made;
}

template <class T>
void potrf(handles& with, std::size_t rows, T* matrix, void* workspace, std::size_t bytes,
           std::size_t host_bytes, int* info) {
  auto const n = static_cast<std::int64_t>(rows);
  if (with.host_workspace.size() < host_bytes) { with.host_workspace.resize(host_bytes); }
  check(api().potrf(with.solver, with.params, CUBLAS_FILL_MODE_LOWER, n, type_of<T>, matrix, n,
                    type_of<T>, workspace, bytes, with.host_workspace.data(), host_bytes, info),
        "cusolverDnXpotrf");
}

/// Returns the one of two functions that suits the type of the entries.
template <class T, class F64, class F32>
auto for_type(F64 f64, F32 f32) {
  if constexpr (std::is_same_v<T, double>) {
    return f64;
  } else {
    return f32;
  }
}
template <class T>
auto gemm() {
  return for_type<T>(api().dgemm, api().sgemm);
}
template <class T>
auto syrk() {
  return for_type<T>(api().dsyrk, api().ssyrk);
}
template <class T>
auto trsm() {
  return for_type<T>(api().dtrsm, api().strsm);
}

}  // namespace cholesky

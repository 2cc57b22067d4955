// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// cuBLAS, opened with dlopen.

#include <cublas_v2.h>

#include "opened_library.hpp"

#ifndef FLOTILLA_TEST_CUBLAS
#define FLOTILLA_TEST_CUBLAS "libcublas.so"
#endif

namespace flotilla::test {

class cublas : public opened_library {
 public:
  cublas()
      : opened_library{
            {"libcublas.so.13", "libcublas.so.12", "libcublas.so", FLOTILLA_TEST_CUBLAS}} {
    take(create, "cublasCreate_v2");
    take(destroy, "cublasDestroy_v2");
    take(set_stream, "cublasSetStream_v2");
    take(sgemm, "cublasSgemm_v2");
  }

  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSgemm_v2) sgemm = nullptr;
};

inline cublas const& blas() {
  static cublas const opened;
  return opened;
}

}  // namespace flotilla::test

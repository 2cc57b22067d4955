// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// cusolverMg, opened when it is needed: the other comparisons also work without it.

// CUDA 13 marks all functions of cusolverMg as deprecated. They are still the only ones of the
// toolkit that factorize a matrix on several GPUs.
#define DISABLE_CUSOLVERMG_DEPRECATED
#include <cusolverMg.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda_api.hpp"
#include "shared_library.hpp"

namespace cholesky {

/// The functions of cusolverMg that this program calls.
struct mg_functions {
  mg_functions() {
    static_cast<void>(api());  // cusolverMg needs cuBLAS, and finds it if it is already open
    shared_library const mg{"libcusolverMg.so.12", "libcusolverMg.so.11", "libcusolverMg.so"};
    mg.take(create, "cusolverMgCreate");
    mg.take(destroy, "cusolverMgDestroy");
    mg.take(select_devices, "cusolverMgDeviceSelect");
    mg.take(create_grid, "cusolverMgCreateDeviceGrid");
    mg.take(destroy_grid, "cusolverMgDestroyGrid");
    mg.take(create_matrix, "cusolverMgCreateMatrixDesc");
    mg.take(destroy_matrix, "cusolverMgDestroyMatrixDesc");
    mg.take(potrf_size, "cusolverMgPotrf_bufferSize");
    mg.take(potrf, "cusolverMgPotrf");
  }

  decltype(&cusolverMgCreate) create = nullptr;
  decltype(&cusolverMgDestroy) destroy = nullptr;
  decltype(&cusolverMgDeviceSelect) select_devices = nullptr;
  decltype(&cusolverMgCreateDeviceGrid) create_grid = nullptr;
  decltype(&cusolverMgDestroyGrid) destroy_grid = nullptr;
  decltype(&cusolverMgCreateMatrixDesc) create_matrix = nullptr;
  decltype(&cusolverMgDestroyMatrixDesc) destroy_matrix = nullptr;
  decltype(&cusolverMgPotrf_bufferSize) potrf_size = nullptr;
  decltype(&cusolverMgPotrf) potrf = nullptr;
};

/// @throws std::runtime_error  The library cannot be used.
inline mg_functions const& mg() {
  try {
    static mg_functions const opened;
    return opened;
  } catch (std::runtime_error const& why) {
    throw std::runtime_error(std::string{"cusolverMg cannot be used: "} + why.what());
  }
}

/// The library's description of a square matrix in blocks of columns, and its calls. The primary
/// contexts of the GPUs must exist.
class mg_handle {
 public:
  mg_handle(std::vector<int> ordinals, std::size_t size, std::size_t block, cudaDataType type)
      : mg_handle(size, type) {  // so that the destructor runs if a call fails
    auto const devices = static_cast<int>(ordinals.size());
    auto const rows = static_cast<std::int64_t>(size);
    check(mg().create(&handle_), "cusolverMgCreate");
    check(mg().select_devices(handle_, devices, ordinals.data()), "cusolverMgDeviceSelect");
    check(mg().create_grid(&grid_, 1, devices, ordinals.data(), CUDALIBMG_GRID_MAPPING_COL_MAJOR),
          "cusolverMgCreateDeviceGrid");
    check(mg().create_matrix(&matrix_, rows, rows, rows, static_cast<std::int64_t>(block), type,
                             grid_),
          "cusolverMgCreateMatrixDesc");
  }
  mg_handle(mg_handle const&) = delete;
  mg_handle& operator=(mg_handle const&) = delete;
  ~mg_handle() {
    if (matrix_ != nullptr) { mg().destroy_matrix(matrix_); }
    if (grid_ != nullptr) { mg().destroy_grid(grid_); }
    if (handle_ != nullptr) { mg().destroy(handle_); }
  }

  /// Returns how many entries the workspace on each GPU needs.
  /// @param columns  The address of the first block on each GPU.
  [[nodiscard]] std::size_t workspace_entries(void** columns) const {
    std::int64_t entries = 0;
    check(mg().potrf_size(handle_, CUBLAS_FILL_MODE_LOWER, rows_, columns, 1, 1, matrix_, type_,
                          &entries),
          "cusolverMgPotrf_bufferSize");
    return static_cast<std::size_t>(entries);
  }
  /// Factorizes the lower triangle, the only one that the library can. Work of the GPUs can still
  /// run when this returns.
  /// @return 0, or the order of a leading minor that is not positive.
  [[nodiscard]] int potrf(void** columns, void** workspaces, std::size_t entries) const {
    int info = 0;
    check(mg().potrf(handle_, CUBLAS_FILL_MODE_LOWER, rows_, columns, 1, 1, matrix_, type_,
                     workspaces, static_cast<std::int64_t>(entries), &info),
          "cusolverMgPotrf");
    return info;
  }

 private:
  mg_handle(std::size_t size, cudaDataType type) : rows_(static_cast<int>(size)), type_(type) {}

  int rows_;
  cudaDataType type_;
  cusolverMgHandle_t handle_ = nullptr;
  cudaLibMgGrid_t grid_ = nullptr;
  cudaLibMgMatrixDesc_t matrix_ = nullptr;
};

}  // namespace cholesky

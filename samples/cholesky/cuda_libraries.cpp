// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda_libraries.hpp"

#include <algorithm>
#include <stdexcept>

#ifdef CHOLESKY_WITH_CUDA_LIBRARIES
#include <map>
#include <type_traits>
#include <vector>

#include "cuda_api.hpp"
#endif

namespace cholesky {

#ifndef CHOLESKY_WITH_CUDA_LIBRARIES

std::string why_no_cuda_libraries() { return "the program was built without their headers"; }
template <class T>
std::unique_ptr<tile_operations<T>> make_cuda_libraries(flotilla::runtime&, flotilla::flow&) {
  throw std::runtime_error("cuBLAS and cuSOLVER: " + why_no_cuda_libraries());
}
template <class T>
std::chrono::duration<double> factor_with_cusolver(flotilla::runtime&, flotilla::device_buffer<T>&,
                                                   std::size_t) {
  throw std::runtime_error("cuSOLVER: " + why_no_cuda_libraries());
}

#else

namespace {

template <class T>
constexpr cudaDataType type_of = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;

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

template <class T>
class cuda_libraries final : public tile_operations<T> {
 public:
  cuda_libraries(flotilla::runtime& rt, flotilla::flow& flow)
      : rt_(rt), flow_(flow), handles_{rt, [](flotilla::task_context& task) {
                                         return std::make_unique<handles>(task.stream());
                                       }} {
    static_cast<void>(api());
  }

  void factor(tile<T>& a, flotilla::data<int>& info, flotilla::task_options const& how) override {
    workspace_size const& size = workspace_for(a, how);
    // Memory of the flow: it is there when the task runs, and later tasks use it again.
    flotilla::data<std::byte> workspace{
        flow_, {std::max<std::size_t>(size.device, 1)}, "workspace"};
    flow_.post(
        uses(update(a), write(info), write(workspace)),
        [this, host = size.host](flotilla::task_context& task, auto tile, auto result, auto work) {
          potrf(handles_.at(task), tile.extents[0], tile.data, work.data, work.size(), host,
                result.data);
        },
        how);
  }
  void solve(tile<T> const& l, tile<T>& a, flotilla::task_options const& how) override {
    flow_.post(
        uses(read(l), update(a)),
        [this](flotilla::task_context& task, auto factor, auto to) {
          T const one = 1;
          int const rows = rows_of(to), columns = columns_of(to);
          check(trsm()(handles_.at(task).blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER,
                       CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, rows, columns, &one, factor.data, columns,
                       to.data, rows),
                "cublas trsm");
        },
        how);
  }
  void square(tile<T> const& a, tile<T>& c, flotilla::task_options const& how) override {
    flow_.post(
        uses(read(a), update(c)),
        [this](flotilla::task_context& task, auto from, auto to) {
          T const one = 1, minus = -1;
          int const rows = rows_of(to);
          check(syrk()(handles_.at(task).blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, rows,
                       columns_of(from), &minus, from.data, rows, &one, to.data, rows),
                "cublas syrk");
        },
        how);
  }
  void multiply(tile<T> const& a, tile<T> const& b, tile<T>& c,
                flotilla::task_options const& how) override {
    flow_.post(
        uses(read(a), read(b), update(c)),
        [this](flotilla::task_context& task, auto left, auto right, auto to) {
          T const one = 1, minus = -1;
          int const rows = rows_of(to), columns = columns_of(to);
          check(gemm()(handles_.at(task).blas, CUBLAS_OP_N, CUBLAS_OP_T, rows, columns,
                       columns_of(left), &minus, left.data, rows, right.data, columns, &one,
                       to.data, rows),
                "cublas gemm");
        },
        how);
  }

 private:
  static auto gemm() {
    if constexpr (std::is_same_v<T, double>) {
      return api().dgemm;
    } else {
      return api().sgemm;
    }
  }
  static auto syrk() {
    if constexpr (std::is_same_v<T, double>) {
      return api().dsyrk;
    } else {
      return api().ssyrk;
    }
  }
  static auto trsm() {
    if constexpr (std::is_same_v<T, double>) {
      return api().dtrsm;
    } else {
      return api().strsm;
    }
  }
  template <class View>
  static int rows_of(View const& of) {
    return static_cast<int>(of.extents[1]);
  }
  template <class View>
  static int columns_of(View const& of) {
    return static_cast<int>(of.extents[0]);
  }
  /// Asks the library once for each size of a tile.
  workspace_size const& workspace_for(tile<T> const& a, flotilla::task_options const& how) {
    auto const found = workspaces_.find(a.extents()[0]);
    if (found != workspaces_.end()) { return found->second; }
    workspace_size& made = workspaces_[a.extents()[0]];
    rt_.submit(
           [&, rows = a.extents()[0]](flotilla::task_context& task) {
             made = potrf_workspace<T>(handles_.at(task), rows, nullptr);
           },
           {.device = how.device})
        .wait();
    return made;
  }

  flotilla::runtime& rt_;
  flotilla::flow& flow_;
  flotilla::per_device<handles> handles_;
  std::map<std::size_t, workspace_size> workspaces_;  // by the rows of a tile
};

}  // namespace

std::string why_no_cuda_libraries() {
  try {
    static_cast<void>(api());
  } catch (std::runtime_error const& why) { return why.what(); }
  return {};
}

template <class T>
std::unique_ptr<tile_operations<T>> make_cuda_libraries(flotilla::runtime& rt,
                                                        flotilla::flow& flow) {
  return std::make_unique<cuda_libraries<T>>(rt, flow);
}

template <class T>
std::chrono::duration<double> factor_with_cusolver(flotilla::runtime& rt,
                                                   flotilla::device_buffer<T>& matrix,
                                                   std::size_t size) {
  flotilla::task_options const on_first{.device = flotilla::device_ordinal{0}};
  flotilla::per_device<handles> all{
      rt, [](flotilla::task_context& task) { return std::make_unique<handles>(task.stream()); }};
  workspace_size needed;
  rt.submit(
        [&](flotilla::task_context& task) {
          needed = potrf_workspace(all.at(task), size, matrix.data());
        },
        on_first)
      .wait();
  flotilla::device_buffer<std::byte> workspace{rt, *on_first.device,
                                               std::max<std::size_t>(needed.device, 1)};
  flotilla::device_buffer<int> info{rt, *on_first.device, 1};
  auto const begin = std::chrono::steady_clock::now();
  rt.submit(
        [&](flotilla::task_context& task) {
          potrf(all.at(task), size, matrix.data(), workspace.data(), workspace.size(), needed.host,
                info.data());
        },
        on_first)
      .wait();
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
  int result = 0;
  rt.submit(info.copy_to(std::span{&result, 1})).wait();
  if (result != 0) { throw std::runtime_error("cuSOLVER: the matrix is not positive definite"); }
  return took;
}

#endif

#define CHOLESKY_INSTANTIATE(T)                                                        \
  template std::unique_ptr<tile_operations<T>> make_cuda_libraries(flotilla::runtime&, \
                                                                   flotilla::flow&);   \
  template std::chrono::duration<double> factor_with_cusolver(                         \
      flotilla::runtime&, flotilla::device_buffer<T>&, std::size_t);
CHOLESKY_INSTANTIATE(double)
CHOLESKY_INSTANTIATE(float)
#undef CHOLESKY_INSTANTIATE

}  // namespace cholesky

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda_libraries.hpp"

#include <algorithm>
#include <stdexcept>

#ifdef CHOLESKY_WITH_CUDA_LIBRARIES
#include <cstddef>
#include <map>

#include "library_handles.hpp"
#endif

namespace cholesky {

#ifndef CHOLESKY_WITH_CUDA_LIBRARIES

std::string why_no_cuda_libraries() { return "the program was built without their headers"; }
template <class T>
std::unique_ptr<tile_operations<T>> make_cuda_libraries(flotilla::runtime&, flotilla::flow&) {
  throw std::runtime_error("cuBLAS and cuSOLVER: " + why_no_cuda_libraries());
}

#else

namespace {

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
    workspace_size const& size = workspace_for(a);
    // Memory of the flow: it is there when the task runs, and later tasks use it again.
    flotilla::data<std::byte> workspace{
        flow_, {std::max<std::size_t>(size.device, 1)}, "workspace"};
    workspace.set_owner(a.owner());  // else the flow would send it to rank 0 after the task
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
          check(trsm<T>()(handles_.at(task).blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER,
                          CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, rows, columns, &one, factor.data,
                          columns, to.data, rows),
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
          check(syrk<T>()(handles_.at(task).blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, rows,
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
          check(gemm<T>()(handles_.at(task).blas, CUBLAS_OP_N, CUBLAS_OP_T, rows, columns,
                          columns_of(left), &minus, left.data, rows, right.data, columns, &one,
                          to.data, rows),
                "cublas gemm");
        },
        how);
  }

 private:
  template <class View>
  static int rows_of(View const& of) {
    return static_cast<int>(of.extents[1]);
  }
  template <class View>
  static int columns_of(View const& of) {
    return static_cast<int>(of.extents[0]);
  }
  /// Asks the library once for each size of a tile.
  workspace_size const& workspace_for(tile<T> const& a) {
    auto const found = workspaces_.find(a.extents()[0]);
    if (found != workspaces_.end()) { return found->second; }
    workspace_size& made = workspaces_[a.extents()[0]];
    rt_.submit(
           [&, rows = a.extents()[0]](flotilla::task_context& task) {
             made = potrf_workspace<T>(handles_.at(task), rows, nullptr);
           },
           {.device = flotilla::device_ordinal{0}})
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

#endif

template std::unique_ptr<tile_operations<double>> make_cuda_libraries(flotilla::runtime&,
                                                                      flotilla::flow&);
template std::unique_ptr<tile_operations<float>> make_cuda_libraries(flotilla::runtime&,
                                                                     flotilla::flow&);

}  // namespace cholesky

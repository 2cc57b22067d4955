// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "comparison.hpp"

#include <stdexcept>

#ifdef CHOLESKY_WITH_CUDA_LIBRARIES
#include <cuda.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "library_handles.hpp"
#include "shared_library.hpp"
#else
#include "cuda_libraries.hpp"
#endif

namespace cholesky {

#ifndef CHOLESKY_WITH_CUDA_LIBRARIES

template <class T>
std::chrono::duration<double> factor_with_cusolver(flotilla::runtime&, flotilla::device_buffer<T>&,
                                                   std::size_t) {
  throw std::runtime_error("cuSOLVER: " + why_no_cuda_libraries());
}
template <class T>
std::chrono::duration<double> factor_by_hand(flotilla::runtime&, flotilla::device_buffer<T>&,
                                             std::size_t, std::size_t) {
  throw std::runtime_error("cuBLAS and cuSOLVER: " + why_no_cuda_libraries());
}

#else

namespace {

/// The functions of the driver that a program with streams and events calls.
struct stream_calls {
  stream_calls() {
    shared_library const driver{"libcuda.so.1"};
    driver.take(create, "cuStreamCreate");
    driver.take(destroy, "cuStreamDestroy_v2");
    driver.take(synchronize, "cuStreamSynchronize");
    driver.take(wait, "cuStreamWaitEvent");
    driver.take(create_event, "cuEventCreate");
    driver.take(destroy_event, "cuEventDestroy_v2");
    driver.take(record, "cuEventRecord");
  }
  CUresult (*create)(CUstream*, unsigned) = nullptr;
  CUresult (*destroy)(CUstream) = nullptr;
  CUresult (*synchronize)(CUstream) = nullptr;
  CUresult (*wait)(CUstream, CUevent, unsigned) = nullptr;
  CUresult (*create_event)(CUevent*, unsigned) = nullptr;
  CUresult (*destroy_event)(CUevent) = nullptr;
  CUresult (*record)(CUevent, CUstream) = nullptr;
};

/// Streams with library handles, and an event for each tile: its last change. A tile is always
/// changed in the same stream, so only other tiles need a wait.
class streams_and_events {
 public:
  static constexpr std::size_t streams = 8;

  explicit streams_and_events(std::size_t tiles) : events_(tiles) {
    for (CUstream& each : streams_) {
      check(calls_.create(&each, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
      handles_.push_back(std::make_unique<handles>(each));
    }
    for (CUevent& each : events_) {
      check(calls_.create_event(&each, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    }
  }
  streams_and_events(streams_and_events const&) = delete;
  streams_and_events& operator=(streams_and_events const&) = delete;
  ~streams_and_events() {
    handles_.clear();
    for (CUstream const each : streams_) { calls_.destroy(each); }
    for (CUevent const each : events_) { calls_.destroy_event(each); }
  }

  [[nodiscard]] handles& of(std::size_t tile) { return *handles_[tile % streams]; }
  void wait(std::size_t tile, std::size_t for_tile) {
    if (tile % streams == for_tile % streams) { return; }
    check(calls_.wait(streams_[tile % streams], events_[for_tile], 0), "cuStreamWaitEvent");
  }
  void changed(std::size_t tile) {
    check(calls_.record(events_[tile], streams_[tile % streams]), "cuEventRecord");
  }
  void synchronize() {
    for (CUstream const each : streams_) { check(calls_.synchronize(each), "cuStreamSynchronize"); }
  }

 private:
  stream_calls calls_;
  CUstream streams_[streams] = {};
  std::vector<std::unique_ptr<handles>> handles_;
  std::vector<CUevent> events_;
};

}  // namespace

template <class T>
std::chrono::duration<double> factor_by_hand(flotilla::runtime& rt,
                                             flotilla::device_buffer<T>& tiles, std::size_t side,
                                             std::size_t count) {
  flotilla::task_options const on_first{.device = flotilla::device_ordinal{0}};
  constexpr std::size_t max_workspace = std::size_t{64} << 20;
  flotilla::device_buffer<std::byte> workspaces{rt, *on_first.device,
                                                streams_and_events::streams * max_workspace};
  flotilla::device_buffer<int> infos{rt, *on_first.device, count};
  std::chrono::duration<double> took{};
  auto const run = [&](flotilla::task_context&) {
    streams_and_events by_hand{count * (count + 1) / 2};
    auto const index = [](std::size_t i, std::size_t j) { return i * (i + 1) / 2 + j; };
    auto const at = [&](std::size_t tile) { return tiles.data() + tile * side * side; };
    int const n = static_cast<int>(side);
    T const one = 1, minus = -1;
    workspace_size const size = potrf_workspace(by_hand.of(0), side, at(0));
    if (size.device > max_workspace) { throw std::runtime_error("the workspace is too small"); }
    auto const begin = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < count; ++k) {
      std::size_t const kk = index(k, k);
      potrf(by_hand.of(kk), side, at(kk),
            workspaces.data() + kk % streams_and_events::streams * max_workspace, size.device,
            size.host, infos.data() + k);
      by_hand.changed(kk);
      for (std::size_t i = k + 1; i < count; ++i) {
        std::size_t const ik = index(i, k);
        by_hand.wait(ik, kk);
        check(trsm<T>()(by_hand.of(ik).blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T,
                        CUBLAS_DIAG_NON_UNIT, n, n, &one, at(kk), n, at(ik), n),
              "cublas trsm");
        by_hand.changed(ik);
      }
      for (std::size_t j = k + 1; j < count; ++j) {
        std::size_t const jk = index(j, k), jj = index(j, j);
        by_hand.wait(jj, jk);
        check(syrk<T>()(by_hand.of(jj).blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, n, &minus,
                        at(jk), n, &one, at(jj), n),
              "cublas syrk");
        by_hand.changed(jj);
        for (std::size_t i = j + 1; i < count; ++i) {
          std::size_t const ik = index(i, k), ij = index(i, j);
          by_hand.wait(ij, ik);
          by_hand.wait(ij, jk);
          check(gemm<T>()(by_hand.of(ij).blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &minus, at(ik), n,
                          at(jk), n, &one, at(ij), n),
                "cublas gemm");
          by_hand.changed(ij);
        }
      }
    }
    by_hand.synchronize();
    took = std::chrono::steady_clock::now() - begin;
  };
  rt.submit(run, on_first).wait();
  return took;
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

#define CHOLESKY_INSTANTIATE(T)                                      \
  template std::chrono::duration<double> factor_with_cusolver(       \
      flotilla::runtime&, flotilla::device_buffer<T>&, std::size_t); \
  template std::chrono::duration<double> factor_by_hand(             \
      flotilla::runtime&, flotilla::device_buffer<T>&, std::size_t, std::size_t);
CHOLESKY_INSTANTIATE(double)
CHOLESKY_INSTANTIATE(float)
#undef CHOLESKY_INSTANTIATE

}  // namespace cholesky

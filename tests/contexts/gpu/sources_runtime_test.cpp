// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// CUDA's runtime library and cuBLAS in tasks, with each context source. Each test runs in a child
// process, because the runtime library never destroys a primary context that it creates.
#include "runtime_test.hpp"

#include "support/thrown.hpp"

#if __has_include(<cublas_v2.h>)
#include "cublas.hpp"
#endif

namespace flotilla::test {
namespace {

class RuntimeApiBySource : public runtime_test {
 protected:
  static runtime_options with(context_source source) {
    runtime_options options{.devices = device_spec(1), .workers = 1};
    options.settings.all.context = source;
    return options;
  }
  /// Checks that tasks can call `cudaMalloc`, launch with `<<<>>>`, and read a `__device__`
  /// variable that an earlier task wrote.
  /// @return the context that owns the memory from `cudaMalloc`.
  static CUcontext expect_works(runtime& rt) {
    CUcontext owner = nullptr;
    void* memory = nullptr;
    int seen = 0;
    rt.submit([&](task_context& context) {
        memory = runtime_memory(4);
        owner = owner_of(memory);
        EXPECT_CUDART_OK(launch_put_state(41, context.stream()));
      }).wait();
    rt.submit([&](task_context& context) {
        EXPECT_CUDART_OK(launch_take_state(static_cast<int*>(memory), context.stream()));
        EXPECT_CUDART_OK(
            cudaMemcpyAsync(&seen, memory, 4, cudaMemcpyDeviceToHost, context.stream()));
      }).wait();
    EXPECT_EQ(seen, 41);
    rt.submit([&](task_context&) { EXPECT_CUDART_OK(cudaFree(memory)); }).wait();
    return owner;
  }
  static void expect_cublas_works(runtime& rt) {
#if __has_include(<cublas_v2.h>)
    if (!blas().there()) {
      std::fprintf(stderr, "cuBLAS is not tested: %s\n", blas().why_not().c_str());
      return;
    }
    float result = 0;
    rt.submit([&](task_context& context) {
        cublasHandle_t handle = nullptr;
        EXPECT_EQ(blas().create(&handle), CUBLAS_STATUS_SUCCESS);
        EXPECT_EQ(blas().set_stream(handle, context.stream()), CUBLAS_STATUS_SUCCESS);
        auto* const memory = static_cast<float*>(runtime_memory(3 * sizeof(float)));
        float const values[3] = {3, 5, 0}, one = 1, zero = 0;
        EXPECT_CUDART_OK(cudaMemcpyAsync(memory, values, sizeof values, cudaMemcpyHostToDevice,
                                         context.stream()));
        EXPECT_EQ(blas().sgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, memory, 1,
                               memory + 1, 1, &zero, memory + 2, 1),
                  CUBLAS_STATUS_SUCCESS);
        EXPECT_CUDART_OK(cudaMemcpyAsync(&result, memory + 2, sizeof result, cudaMemcpyDeviceToHost,
                                         context.stream()));
        EXPECT_CUDART_OK(cudaStreamSynchronize(context.stream()));
        EXPECT_CUDART_OK(cudaFree(memory));
        EXPECT_EQ(blas().destroy(handle), CUBLAS_STATUS_SUCCESS);
      }).wait();
    EXPECT_EQ(result, 15.0f);
#else
    (void)rt;
#endif
  }
};

// S2.2: with the primary context, the runtime library and cuBLAS work in tasks, and tasks share the
// context with the application
TEST_F(RuntimeApiBySource, ThePrimaryIsTheApplicationsOwn) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    void* const outside = runtime_memory(4);
    runtime rt{with(context_source::primary())};
    EXPECT_EQ(expect_works(rt), owner_of(outside));
    expect_cublas_works(rt);
    // The application reads the variable that a task wrote.
    int seen = 0;
    EXPECT_CUDART_OK(launch_take_state(static_cast<int*>(outside), nullptr));
    EXPECT_CUDART_OK(cudaMemcpy(&seen, outside, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQ(seen, 41);
  });
}

// S2.3: with the primary context, a task may call `cudaSetDevice`. This call changes nothing,
// because the primary context is already current
TEST_F(RuntimeApiBySource, InThePrimaryATaskMaySetTheDevice) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{with(context_source::primary())};
    rt.submit([](task_context& context) {
        EXPECT_CUDART_OK(cudaSetDevice(context.device().driver_ordinal));
        EXPECT_EQ(current(), context.context());
      }).wait();
  });
}

// S3.2: the runtime library and cuBLAS work in tasks with an adopted context
TEST_F(RuntimeApiBySource, AnAdoptedContextServesThemAsAnOwnedOne) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    CUcontext const mine = create_in_child();
    {
      runtime rt{with(context_source::adopted(mine))};
      EXPECT_EQ(expect_works(rt), mine);
      expect_cublas_works(rt);
      EXPECT_EQ(primary().active, 0);
    }
    EXPECT_EQ(current(), mine);
    runtime_memory(4);
  });
}

// S3.3: if a task calls `cudaSetDevice`, which replaces the adopted context, the task's ticket has
// an error
TEST_F(RuntimeApiBySource, InAnAdoptedContextSettingTheDeviceIsReported) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    CUcontext const mine = create_in_child();
    runtime rt{with(context_source::adopted(mine))};
    ticket const rude =
        rt.submit([](task_context&) { EXPECT_CUDART_OK(cudaSetDevice(0)); }, {.label = "rude"});
    EXPECT_THAT(thrown<error>([&] { rude.wait(); }),
                AllOf(HasSubstr("rude"), HasSubstr("context")));
    EXPECT_EQ(current(), mine);
  });
}

// S4.3: the runtime library and cuBLAS work in tasks with a green context
TEST_F(RuntimeApiBySource, AGreenContextServesThem) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{with(context_source::green(16))};
    (void)expect_works(rt);
    expect_cublas_works(rt);
  });
}

}  // namespace
}  // namespace flotilla::test

// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Textures, surfaces and texture references belong to one context and end with it.
#include <channel_descriptor.h>

#include "runtime_test.hpp"

#include <array>
#include <cstdio>

namespace flotilla::test {
namespace {

/// A kernel with a texture reference. C++ code can declare none since CUDA 12, but PTX code can.
constexpr char const* reference_code = R"(.version 7.0
.target sm_80
.address_size 64
.visible .global .texref values;
.visible .entry read_reference(.param .u64 to, .param .u32 count) {
  .reg .u64 %to;
  .reg .u32 %count, %i;
  .reg .f32 %x, %v0, %v1, %v2, %v3;
  .reg .pred %more;
  ld.param.u64 %to, [to];
  cvta.to.global.u64 %to, %to;
  ld.param.u32 %count, [count];
  mov.u32 %i, 0;
again:
  cvt.rn.f32.u32 %x, %i;
  add.f32 %x, %x, 0f3F000000;
  tex.1d.v4.f32.f32 {%v0, %v1, %v2, %v3}, [values, {%x}];
  st.global.f32 [%to], %v0;
  add.u64 %to, %to, 4;
  add.u32 %i, %i, 1;
  setp.lt.u32 %more, %i, %count;
  @%more bra again;
  ret;
}
)";

class ContextTextures : public runtime_test {
 protected:
  static constexpr int width = 64;
  static constexpr std::size_t row = width * sizeof(float);
  using values = std::array<float, width>;

  static values times(float factor) {
    values made{};
    for (std::size_t i = 0; i < made.size(); ++i) { made[i] = static_cast<float>(i) * factor; }
    return made;
  }
  /// Returns an array of the current context that contains `from`.
  static cudaArray_t array_of(values const& from, unsigned flags = 0) {
    cudaChannelFormatDesc const format = cudaCreateChannelDesc<float>();
    cudaArray_t made = nullptr;
    EXPECT_CUDART_OK(cudaMallocArray(&made, &format, width, 1, flags));
    EXPECT_CUDART_OK(
        cudaMemcpy2DToArray(made, 0, 0, from.data(), row, row, 1, cudaMemcpyHostToDevice));
    return made;
  }
  static cudaResourceDesc resource_of(cudaArray_t array) {
    cudaResourceDesc what{};
    what.resType = cudaResourceTypeArray;
    what.res.array.array = array;
    return what;
  }
  static cudaTextureObject_t texture_of(cudaArray_t array) {
    cudaResourceDesc const what = resource_of(array);
    cudaTextureDesc how{};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t made = 0;
    EXPECT_CUDART_OK(cudaCreateTextureObject(&made, &what, &how, nullptr));
    return made;
  }
  static cudaSurfaceObject_t surface_of(cudaArray_t array) {
    cudaResourceDesc const what = resource_of(array);
    cudaSurfaceObject_t made = 0;
    EXPECT_CUDART_OK(cudaCreateSurfaceObject(&made, &what));
    return made;
  }
  /// Pushes the context on a new thread and reads the texture there.
  static values read_elsewhere(CUcontext owner, cudaTextureObject_t texture) {
    values read{};
    elsewhere([&] {
      pushed const here{owner};
      auto* const memory = static_cast<float*>(runtime_memory(row));
      EXPECT_CUDART_OK(launch_read_texture(memory, texture, width, nullptr));
      EXPECT_CUDART_OK(cudaMemcpy(read.data(), memory, row, cudaMemcpyDeviceToHost));
    });
    return read;
  }
  /// Whether the current context knows a texture of `array` by this handle. Prints the answer.
  static bool knows(cudaTextureObject_t texture, cudaArray_t array, char const* when) {
    cudaResourceDesc what{};
    cudaError_t const answer = cudaGetTextureObjectResourceDesc(&what, texture);
    static_cast<void>(cudaGetLastError());
    bool const same = answer == cudaSuccess && what.res.array.array == array;
    std::fprintf(stderr, "%s: %s%s\n", when, cudaGetErrorName(answer),
                 answer != cudaSuccess ? ""
                 : same                ? ", its array"
                                       : ", another array");
    return same;
  }
};

// C1.4 C4.8: a texture belongs to the context in which it was created. That context reads the
// texture on every thread. In another context, the handle does not name this texture
TEST_F(ContextTextures, BelongToTheirContext) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    CUcontext const a = create_in_child();
    cudaArray_t const of_a = array_of(times(2));
    cudaTextureObject_t const texture_a = texture_of(of_a);
    EXPECT_TRUE(knows(texture_a, of_a, "in its own context"));
    EXPECT_EQ(pop(), a);
    CUcontext const b = create_in_child();
    EXPECT_FALSE(knows(texture_a, of_a, "in another context"));
    cudaArray_t const of_b = array_of(times(3));
    cudaTextureObject_t const texture_b = texture_of(of_b);
    EXPECT_FALSE(knows(texture_a, of_a, "in another context with a texture of its own"));
    EXPECT_EQ(pop(), b);
    EXPECT_EQ(read_elsewhere(a, texture_a), times(2));
    EXPECT_EQ(read_elsewhere(b, texture_b), times(3));
    // Destroying the context of a texture leaves the textures of other contexts.
    EXPECT_OK(cu().ctx_destroy(a));
    push(b);
    EXPECT_FALSE(knows(texture_a, of_a, "after its context was destroyed"));
    EXPECT_TRUE(knows(texture_b, of_b, "the texture of the other context"));
    pop();
    EXPECT_EQ(read_elsewhere(b, texture_b), times(3));
  });
}

// C1.4 C4.8: a surface writes to the array of its context, on every thread that pushes the context
TEST_F(ContextTextures, SurfacesWriteTheArraysOfTheirContext) {
  struct {
    CUcontext context = nullptr;
    cudaArray_t array = nullptr;
    cudaSurfaceObject_t surface = 0;
  } all[2];
  for (auto& each : all) {
    each.context = create();
    each.array = array_of(times(0), cudaArraySurfaceLoadStore);
    each.surface = surface_of(each.array);
    EXPECT_EQ(pop(), each.context);
  }
  for (int i = 0; i < 2; ++i) {
    elsewhere([&] {
      pushed const here{all[i].context};
      EXPECT_CUDART_OK(
          launch_write_surface(all[i].surface, width, static_cast<float>(100 * (i + 1)), nullptr));
      EXPECT_CUDART_OK(cudaDeviceSynchronize());
    });
  }
  for (int i = 0; i < 2; ++i) {
    pushed const here{all[i].context};
    values seen{};
    EXPECT_CUDART_OK(cudaMemcpy2DFromArray(seen.data(), row, all[i].array, 0, 0, row, 1,
                                           cudaMemcpyDeviceToHost));
    EXPECT_EQ(seen[0], static_cast<float>(100 * (i + 1)));
    EXPECT_EQ(seen[width - 1], static_cast<float>(100 * (i + 1) + width - 1));
  }
}

// C4.4 C4.8: textures, surfaces and their arrays end with their context. The test detects a leak of
// the arrays, or of 1 KiB for each texture or surface
TEST_F(ContextTextures, EndWithTheirContext) {
  constexpr int rounds = 20, objects = 2000;
  CUcontext const witness = create();
  auto const fill_and_destroy = [&] {
    CUcontext const made = create();
    cudaChannelFormatDesc const format = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr;
    EXPECT_CUDART_OK(cudaMallocArray(&array, &format, 2048, 2048, cudaArraySurfaceLoadStore));
    for (int i = 0; i < objects; ++i) {
      static_cast<void>(texture_of(array));
      static_cast<void>(surface_of(array));
    }
    destroy(made);
  };
  EXPECT_LE(bytes_lost("contexts with arrays, textures and surfaces", rounds, fill_and_destroy),
            2LL * rounds * objects * 1024);
  EXPECT_EQ(current(), witness);
  pop();
}

// C1.4 C4.8: a texture reference is a part of a module, so it belongs to the context of the module.
// The references of two contexts are bound to different arrays
TEST_F(ContextTextures, ReferencesBelongToTheirContext) {
  // The header declares these functions as deprecated, so their types are written out.
  auto const get = entry<CUresult (*)(CUtexref*, CUmodule, char const*)>("cuModuleGetTexRef");
  auto const bind = entry<CUresult (*)(CUtexref, CUarray, unsigned)>("cuTexRefSetArray");
  if (get == nullptr || bind == nullptr) {
    GTEST_SKIP() << "needs a driver with texture references";
  }
  struct {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUtexref reference = nullptr;
  } all[2];
  for (int i = 0; i < 2; ++i) {
    all[i].context = create();
    CUresult const loaded = cu().module_load_data(&all[i].module, reference_code);
    if (loaded != CUDA_SUCCESS) {
      pop();
      GTEST_SKIP() << "needs a driver that compiles texture references; cuModuleLoadData returned "
                   << name_of(loaded);
    }
    EXPECT_OK(get(&all[i].reference, all[i].module, "values"));
    auto const array = reinterpret_cast<CUarray>(array_of(times(static_cast<float>(i + 2))));
    EXPECT_OK(bind(all[i].reference, array, CU_TRSA_OVERRIDE_FORMAT));
    EXPECT_EQ(pop(), all[i].context);
  }
  EXPECT_NE(all[0].reference, all[1].reference);
  for (int i = 0; i < 2; ++i) {
    elsewhere([&] {
      pushed const here{all[i].context};
      values read{};
      CUdeviceptr const memory = allocate(row);
      EXPECT_OK(launch(function(all[i].module, "read_reference"), nullptr, memory, width));
      EXPECT_OK(cu().memcpy_dtoh(read.data(), memory, row));
      EXPECT_EQ(read, times(static_cast<float>(i + 2)));
    });
  }
}

}  // namespace
}  // namespace flotilla::test

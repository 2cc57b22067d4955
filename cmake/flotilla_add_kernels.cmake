# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# flotilla_add_kernels(TARGET file.cu… [NAME name] [DEFINITIONS NAME[=value]…]
#                      [INCLUDE_DIRECTORIES dir…])
#
# Compiles the kernels in the files for GPUs and for CPU devices, and embeds both results into TARGET
# as one image. TARGET is a library or a program:
#
#   #include "<name>.hpp"                  // declares: extern const flotilla::image <name>;
#
# The build writes this header, and adds its folder to the include path of TARGET and of targets that
# link to TARGET. The default of `name` is TARGET_kernels. If a target has several images, give each
# of them a different name. The files of one call are compiled together, as one translation unit, so
# helper functions in different files need different names. Kernels must be declared as
# `extern "C" __global__ void kernel(...)`, and at least one of them must compile for CPU devices. The
# build includes <flotilla/kernel_language.hpp> before the first line of each file. That header
# describes the kernel language.
#
# Optional variables:
#   FLOTILLA_GPU_KERNELS         If OFF, the image has no code for GPUs, and nvcc is not needed.
#   FLOTILLA_NVCC                The path of nvcc. If it is not set, flotilla_cuda.cmake searches in
#                                FLOTILLA_CUDA, CUDACXX, PATH, /usr/local/cuda and NVIDIA's wheels.
#   FLOTILLA_CUDA_ARCHITECTURES  Default 80;90;100. The image also has PTX for the last one, which
#                                later GPUs can run.
#   FLOTILLA_NVCC_FLAGS          More flags for nvcc.
#   FLOTILLA_CPU_KERNEL_FLAGS    More flags for the C++ compiler that compiles for CPU devices. Builds of
#                                type Debug and RelWithDebInfo have -g already.
#   FLOTILLA_SANITIZE            Sanitizers of the build. Code for CPU devices uses them too.
#
# Call flotilla_add_kernels in the folder in which TARGET is defined.
include_guard(GLOBAL)
cmake_policy(PUSH)
# A user's project may have requested older policies. CMP0116 changes how depfiles work.
cmake_policy(VERSION 3.20...3.25)
include("${CMAKE_CURRENT_LIST_DIR}/flotilla_cuda.cmake")

# Returns the folder that contains flotilla/*.hpp. In the source tree this folder is beside the folder
# of this file; in an install tree it is some levels higher.
function(_flotilla_kernels_include result)
  set(dir "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  while(NOT EXISTS "${dir}/include/flotilla/kernel_language/image_abi.hpp")
    cmake_path(GET dir PARENT_PATH parent)
    if(parent STREQUAL dir)
      message(FATAL_ERROR
        "flotilla_add_kernels: no folder above ${CMAKE_CURRENT_FUNCTION_LIST_DIR} has include/flotilla")
    endif()
    set(dir "${parent}")
  endwhile()
  set(${result} "${dir}/include" PARENT_SCOPE)
endfunction()

function(flotilla_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME" "FILES;DEFINITIONS;INCLUDE_DIRECTORIES")
  set(files ${arg_UNPARSED_ARGUMENTS} ${arg_FILES})  # the keyword FILES is optional
  if(NOT TARGET ${target})
    message(FATAL_ERROR "flotilla_add_kernels: there is no target ${target}; define it first")
  endif()
  if(NOT files)
    message(FATAL_ERROR "flotilla_add_kernels(${target}): needs at least one .cu file")
  endif()
  set(name "${arg_NAME}")
  if(NOT name)
    set(name "${target}_kernels")
  endif()
  if(NOT name MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "flotilla_add_kernels(${target}): the image's name must be a C++ "
            "identifier, but is \"${name}\"; set it with NAME")
  endif()
  get_property(owner DIRECTORY PROPERTY flotilla_owner_of_${name})
  if(owner)
    message(FATAL_ERROR "flotilla_add_kernels(${target}): the target ${owner} in this folder "
            "already has an image with the name ${name}; choose another name with NAME")
  endif()
  set_property(DIRECTORY PROPERTY flotilla_owner_of_${name} "${target}")

  set(work "${CMAKE_CURRENT_BINARY_DIR}/flotilla_kernels/${name}")
  set(sources "")
  foreach(file IN LISTS files)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "flotilla_add_kernels(${target}): there is no file ${file}")
    endif()
    list(APPEND sources "${file}")
  endforeach()
  list(JOIN sources "\n" source_list)
  list(TRANSFORM sources REPLACE "^(.+)$" "#include \"\\1\"" OUTPUT_VARIABLE all)
  list(JOIN all "\n" all)
  file(CONFIGURE OUTPUT "${work}/sources.txt" CONTENT "${source_list}\n" @ONLY)
  file(CONFIGURE OUTPUT "${work}/all.cu" @ONLY
       CONTENT "// Written by flotilla_add_kernels().\n${all}\n")

  list(TRANSFORM arg_DEFINITIONS PREPEND "-D")
  _flotilla_kernels_include(flotilla_include)
  set(common "-I${flotilla_include}")
  foreach(dir IN LISTS arg_INCLUDE_DIRECTORIES)
    cmake_path(ABSOLUTE_PATH dir BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND common "-I${dir}")
  endforeach()
  list(APPEND common ${arg_DEFINITIONS})

  _flotilla_cpu_image("${work}" "${common}" "${sources}")
  set(parts cpu)
  if(NOT DEFINED FLOTILLA_GPU_KERNELS OR FLOTILLA_GPU_KERNELS)
    _flotilla_gpu_image("${work}" "${common}" "${sources}")
    list(APPEND parts gpu)
  endif()
  _flotilla_embed("${work}" ${target} ${name} "${parts}")
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${work}/include>" "$<BUILD_INTERFACE:${flotilla_include}>")
  target_compile_features(${target} PRIVATE cxx_std_20)
endfunction()

# Builds work/cpu.so, a shared object that the CPU driver loads. It does not link to flotilla.
function(_flotilla_cpu_image work common sources)
  set(scripts "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kernels")
  separate_arguments(user_flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
  set(flags ${user_flags} -std=c++20 -fPIC -fvisibility=hidden -U_FORTIFY_SOURCE
      -O3 -fno-lto -fno-exceptions -fno-rtti
      -fno-math-errno        # a GPU has no errno
      -fno-strict-aliasing   # kernels access memory through vector types
      # In a kernel these functions act on the device, so the compiler must not replace them.
      -fno-builtin-printf -fno-builtin-malloc -fno-builtin-free)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # -fno-gnu-unique: copies of the image must not share symbols.
    # -fcheck-new: operator new of a kernel may return null.
    list(APPEND flags -fno-gnu-unique -fcheck-new)
  endif()
  if(FLOTILLA_SANITIZE)
    list(JOIN FLOTILLA_SANITIZE "," sanitizers)
    list(APPEND flags -fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all -g)
  endif()
  # With -g a debugger finds kernels that the compiler has inlined.
  list(APPEND flags "$<$<CONFIG:Debug,RelWithDebInfo>:-g>" ${FLOTILLA_CPU_KERNEL_FLAGS})

  # The preprocessor call needs no -MD, because the compilation below writes the same dependencies.
  add_custom_command(
    OUTPUT "${work}/cpu.so"
    DEPFILE "${work}/cpu.d"
    DEPENDS ${sources} "${work}/all.cu" "${work}/sources.txt"
            "${scripts}/scan_kernels.cmake" "${scripts}/cpu_image.map"
    COMMAND "${CMAKE_CXX_COMPILER}" ${flags} ${common} -DFLOTILLA_KERNEL_SCAN
            -E -x c++ "${work}/all.cu" -o "${work}/all.ii"
    COMMAND "${CMAKE_COMMAND}" -D "SOURCES=${work}/sources.txt" -D "PREPROCESSED=${work}/all.ii"
            -D "OUTPUT=${work}/cpu.cpp" -P "${scripts}/scan_kernels.cmake"
    COMMAND "${CMAKE_CXX_COMPILER}" ${flags} ${common} -include flotilla/kernel_language.hpp
            -MD -MF "${work}/cpu.d" -MT "${work}/cpu.so"
            -shared -Wl,--as-needed "-Wl,--version-script=${scripts}/cpu_image.map"
            -x c++ "${work}/cpu.cpp" -o "${work}/cpu.so"
    COMMENT "Kernels for CPU devices: ${work}/cpu.so"
    VERBATIM COMMAND_EXPAND_LISTS)
endfunction()

# Builds work/gpu.fatbin, which contains code for each architecture, and PTX.
function(_flotilla_gpu_image work common sources)
  if(NOT FLOTILLA_NVCC)
    flotilla_find_cuda()  # if there is no toolkit, it stops with a list of the places it tried
  endif()
  set(nvcc "${FLOTILLA_NVCC}")

  set(architectures 80 90 100)
  if(FLOTILLA_CUDA_ARCHITECTURES)
    set(architectures ${FLOTILLA_CUDA_ARCHITECTURES})
  endif()
  set(targets "")
  foreach(architecture IN LISTS architectures)
    list(APPEND targets "-gencode=arch=compute_${architecture},code=sm_${architecture}")
  endforeach()
  list(GET architectures -1 newest)
  list(APPEND targets "-gencode=arch=compute_${newest},code=compute_${newest}")

  add_custom_command(
    OUTPUT "${work}/gpu.fatbin"
    DEPFILE "${work}/gpu.d"
    DEPENDS ${sources} "${work}/all.cu"
    COMMAND "${nvcc}" -std=c++17 -O3 ${targets} ${common} -include flotilla/kernel_language.hpp
            -ccbin "${CMAKE_CXX_COMPILER}" -allow-unsupported-compiler -Wno-deprecated-gpu-targets
            ${FLOTILLA_NVCC_FLAGS}
            -MD -MF "${work}/gpu.d" -MT "${work}/gpu.fatbin"
            -fatbin "${work}/all.cu" -o "${work}/gpu.fatbin"
    COMMENT "Kernels for GPUs: ${work}/gpu.fatbin"
    VERBATIM COMMAND_EXPAND_LISTS)
endfunction()

# Adds the bytes of the image to the target, and writes the header that declares the image.
function(_flotilla_embed work target name parts)
  set(scripts "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kernels")
  file(CONFIGURE OUTPUT "${work}/include/${name}.hpp" @ONLY CONTENT [[
#pragma once
// Written by flotilla_add_kernels(@target@).
#include <flotilla/kernel/image.hpp>

/// The kernels of @target@, for GPUs and CPU devices.
extern __attribute__((visibility("default"))) const flotilla::image @name@;
]])
  set(files "${work}/cpu.so")
  if(gpu IN_LIST parts)
    list(APPEND files "${work}/gpu.fatbin")
  endif()
  add_custom_command(
    OUTPUT "${work}/${name}.cpp"
    DEPENDS ${files} "${scripts}/embed.cmake"
    COMMAND "${CMAKE_COMMAND}" -D "NAME=${name}" -D "TARGET=${target}" -D "PARTS=${parts}"
            -D "WORK=${work}" -P "${scripts}/embed.cmake"
    COMMENT "Embedding ${name}"
    VERBATIM)
  set_source_files_properties("${work}/${name}.cpp" PROPERTIES
    OBJECT_DEPENDS "${files}"
    COMPILE_OPTIONS "-fno-lto"  # link-time optimisation does not see symbols of assembler code
    SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${work}/${name}.cpp")
endfunction()

cmake_policy(POP)

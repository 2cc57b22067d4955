# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Builds image_project, and checks the image.
#
#   cmake -D CASE=<case> -D PROJECT=<folder> -D WORK=<folder> -D COMPILER=<C++ compiler>
#         -D GENERATOR=<generator> -D ADD_KERNELS=<flotilla_add_kernels.cmake>
#         -D MAKE_TWINS=<flotilla_make_twins> -D CUDA=<folder of the toolkit>
#         -P image_project_test.cmake
#
# Cases:
#   header      A changed header that is included for one architecture only changes the image.
#   flags       Flags for nvcc reach the machine code and the options for the driver's assembler.
#   debug       With -G the image has no twins, and the build says so.
#   fused_off   With FUSED OFF the image has no twins.
#   gpu_only    With GPU_ONLY the image has twins.
#   misspelled  FLOTILLA_NO_TWIN with the name of no kernel is an error, with GPU_ONLY too.
cmake_minimum_required(VERSION 3.20)

function(expect condition what)
  cmake_language(EVAL CODE "
    if(NOT (${condition}))
      message(FATAL_ERROR [==[${what}; the build printed:
${output}]==])
    endif()")
endfunction()

function(build)
  execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}"
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(CASE STREQUAL "misspelled")
    expect("NOT status EQUAL 0 AND output MATCHES [=[kernel\\.cu:15: error: FLOTILLA_NO_TWIN.unwantet.]=]"
           "the build must name the unknown kernel")
    return()
  endif()
  expect("status EQUAL 0" "the project does not build")
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(flags "")
set(more "")
if(CASE STREQUAL "flags")
  set(flags "-lineinfo;-maxrregcount=40")
elseif(CASE STREQUAL "debug")
  set(flags "-G")
elseif(CASE STREQUAL "fused_off")
  set(more "FUSED;OFF")
elseif(CASE STREQUAL "gpu_only")
  set(more "GPU_ONLY")
elseif(CASE STREQUAL "misspelled")
  set(more "GPU_ONLY;DEFINITIONS;MISSPELLED")
endif()

file(REMOVE_RECURSE "${WORK}")
file(WRITE "${WORK}/only_for_90.h" "#define NUMBER 1111\n")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${PROJECT}" -B "${WORK}" -G "${GENERATOR}"
          -D "CMAKE_CXX_COMPILER=${COMPILER}" -D "ADD_KERNELS=${ADD_KERNELS}"
          -D "MAKE_TWINS=${MAKE_TWINS}" -D "FLOTILLA_CUDA=${CUDA}"
          -D "FLOTILLA_NVCC_FLAGS=${flags}" -D "MORE=${more}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
expect("status EQUAL 0" "the project does not configure")
build()
if(CASE STREQUAL "misspelled")
  return()
endif()

set(image "${WORK}/flotilla_kernels/app_kernels/gpu.fatbin")
file(STRINGS "${image}" twins REGEX "write_number__flotilla_twin1")
file(STRINGS "${image}" unwanted_twins REGEX "unwanted__flotilla_twin1")
expect("unwanted_twins STREQUAL \"\"" "the unwanted twin exists")
if(CASE MATCHES "^(debug|fused_off)$")
  expect("twins STREQUAL \"\"" "there is a twin")
else()
  expect("NOT twins STREQUAL \"\"" "there is no twin")
endif()

set(first_output "${output}")
build()
expect("NOT output MATCHES \"Kernels for GPUs\"" "a second build makes the image again")
set(output "${first_output}")

if(CASE STREQUAL "header")
  file(SHA256 "${image}" before)
  file(WRITE "${WORK}/only_for_90.h" "#define NUMBER 2222\n")
  build()
  file(SHA256 "${image}" after)
  expect("NOT before STREQUAL after" "the header is not a dependency of the image")
elseif(CASE STREQUAL "flags")
  file(STRINGS "${image}" lines REGEX "debug_line")
  file(STRINGS "${image}" assembled REGEX "-maxrregcount 40 ")  # the assembler records its options
  file(STRINGS "${image}" options REGEX "-maxrregcount=40 --generate-line-info")
  expect("NOT lines STREQUAL \"\"" "the image has no line numbers")
  expect("NOT assembled STREQUAL \"\"" "the assembler does not get the flags")
  expect("NOT options STREQUAL \"\"" "the driver does not get the options")
elseif(CASE STREQUAL "debug")
  expect("output MATCHES \"flotilla: no twins: the module is compiled for debugging\""
         "the build does not say why there are no twins")
endif()

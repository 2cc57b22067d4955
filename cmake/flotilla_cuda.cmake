# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Finds the CUDA toolkit, 13.0 or later. flotilla uses its nvcc for GPU kernels, and the headers of
# the driver API. The build does not use enable_language(CUDA), because that searches for the CUDA
# runtime library, which flotilla does not need.
#
# flotilla_find_cuda() sets, for every directory of the build:
#   FLOTILLA_NVCC              the path of nvcc; empty if FLOTILLA_GPU_KERNELS is OFF
#   FLOTILLA_CUDA_INCLUDE_DIR  the folder of cuda.h and cudaTypedefs.h
#
# If FLOTILLA_CUDA is set (to a folder, to `wheels`, or for example to `wheels:13.5`), the function uses
# that toolkit. Otherwise it uses the first suitable toolkit of these: the environment variable CUDACXX,
# nvcc on the path, /usr/local/cuda, NVIDIA's wheels from PyPI. `wheels` without a version are those of
# the oldest supported toolkit. The folder cuda_wheels has a list for each version.
#
# Run this file as a script to download the toolkit, so that a later configuration needs no network:
#   cmake -D FLOTILLA_CUDA=wheels -P cmake/flotilla_cuda.cmake
include_guard(GLOBAL)

set(FLOTILLA_CUDA_WHEELS_LISTS "${CMAKE_CURRENT_LIST_DIR}/cuda_wheels")
if(NOT FLOTILLA_CUDA_WHEELS_DIR)
  set(FLOTILLA_CUDA_WHEELS_DIR "${CMAKE_BINARY_DIR}/cuda-wheels")
  # In flotilla's own source tree all presets share one copy of the wheels.
  if(CMAKE_SCRIPT_MODE_FILE OR (PROJECT_IS_TOP_LEVEL AND PROJECT_NAME STREQUAL "flotilla"))
    cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH own_tree)
    set(FLOTILLA_CUDA_WHEELS_DIR "${own_tree}/build/cuda-wheels")
  endif()
endif()
set(FLOTILLA_CUDA_WHEELS_DIR "${FLOTILLA_CUDA_WHEELS_DIR}" CACHE PATH
    "Folder of the unpacked wheels, one folder for each version")

function(flotilla_find_cuda)
  if(NOT DEFINED FLOTILLA_GPU_KERNELS)
    set(FLOTILLA_GPU_KERNELS ON)
  endif()
  # Search only once in a configure run, but search again if an earlier caller did not need nvcc and
  # this caller does.
  get_property(found GLOBAL PROPERTY flotilla_cuda_found)
  if(found AND (FLOTILLA_NVCC OR NOT FLOTILLA_GPU_KERNELS))
    return()
  endif()

  set(tried "")
  set(root "")
  if(FLOTILLA_CUDA MATCHES "^wheels(:(.*))?$")
    _flotilla_cuda_wheels("${CMAKE_MATCH_2}" root tried)
  elseif(FLOTILLA_CUDA)
    _flotilla_cuda_check("${FLOTILLA_CUDA}" "FLOTILLA_CUDA" root tried)
  else()
    if(DEFINED ENV{CUDACXX})
      _flotilla_cuda_root_of("$ENV{CUDACXX}" candidate)
      _flotilla_cuda_check("${candidate}" "CUDACXX ($ENV{CUDACXX})" root tried)
    endif()
    if(NOT root)
      find_program(nvcc_on_path nvcc NO_CACHE NO_CMAKE_SYSTEM_PATH)
      if(nvcc_on_path)
        _flotilla_cuda_root_of("${nvcc_on_path}" candidate)
        _flotilla_cuda_check("${candidate}" "nvcc on the path" root tried)
      else()
        list(APPEND tried "nvcc on the path: none")
      endif()
    endif()
    if(NOT root)
      _flotilla_cuda_check("/usr/local/cuda" "the default folder" root tried)
    endif()
    if(NOT root)
      _flotilla_cuda_wheels("" root tried)
    endif()
  endif()
  if(NOT root)
    list(JOIN tried "\n  " tried)
    message(FATAL_ERROR
      "flotilla needs the CUDA toolkit 13.0 or later (no GPU and no driver), but none was found.\n"
      "Tried:\n  ${tried}\n"
      "Install the toolkit, name its folder with FLOTILLA_CUDA, or let pip reach PyPI.")
  endif()

  _flotilla_cuda_include_dir("${root}" include_dir)
  set(nvcc "")
  if(FLOTILLA_GPU_KERNELS)
    set(nvcc "${root}/bin/nvcc")
  endif()
  _flotilla_cuda_version("${include_dir}" version)
  message(STATUS "CUDA toolkit ${version}: ${root}")
  set(FLOTILLA_CUDA_INCLUDE_DIR "${include_dir}" CACHE INTERNAL "Folder of cuda.h")
  set(FLOTILLA_NVCC "${nvcc}" CACHE INTERNAL "nvcc")
  set(FLOTILLA_CUDA_ROOT "${root}" CACHE INTERNAL "Folder of the CUDA toolkit")
  set_property(GLOBAL PROPERTY flotilla_cuda_found ON)
endfunction()

# Returns the toolkit folder of a compiler. The compiler may be a link, a name without a path, or a
# script that calls the real compiler. So the function runs the compiler to find its toolkit.
function(_flotilla_cuda_root_of nvcc result)
  execute_process(COMMAND "${nvcc}" --dryrun -x cu -c /dev/null
                  RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(status EQUAL 0 AND said MATCHES "TOP=([^\n]+)")
    file(REAL_PATH "${CMAKE_MATCH_1}" root)
  else()
    set(root "${nvcc}")  # no toolkit was found; the error of the later check names this path
  endif()
  set(${result} "${root}" PARENT_SCOPE)
endfunction()

function(_flotilla_cuda_include_dir root result)
  set(${result} "" PARENT_SCOPE)
  foreach(dir include targets/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux/include)
    if(EXISTS "${root}/${dir}/cuda.h" AND EXISTS "${root}/${dir}/cudaTypedefs.h")
      set(${result} "${root}/${dir}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Returns for example "13.0" if cuda.h has `#define CUDA_VERSION 13000`.
function(_flotilla_cuda_version include_dir result)
  file(STRINGS "${include_dir}/cuda.h" line REGEX "^#define CUDA_VERSION [0-9]+" LIMIT_COUNT 1)
  string(REGEX REPLACE "^#define CUDA_VERSION ([0-9]+).*" "\\1" number "${line}")
  math(EXPR major "${number} / 1000")
  math(EXPR minor "${number} % 1000 / 10")
  set(${result} "${major}.${minor}" PARENT_SCOPE)
endfunction()

# If the toolkit in `candidate` is suitable, sets `root_out`. Otherwise appends the reason to
# `tried_out`.
function(_flotilla_cuda_check candidate origin root_out tried_out)
  _flotilla_cuda_include_dir("${candidate}" include_dir)
  if(NOT IS_DIRECTORY "${candidate}")
    set(why "there is no such folder")
  elseif(NOT include_dir)
    set(why "it does not have cuda.h and cudaTypedefs.h")
  else()
    _flotilla_cuda_version("${include_dir}" version)
    if(version VERSION_LESS 13.0)
      set(why "its version is ${version}")
    elseif(FLOTILLA_GPU_KERNELS)
      execute_process(COMMAND "${candidate}/bin/nvcc" --version
                      RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
      if(NOT status EQUAL 0)
        set(why "its bin/nvcc does not run (${status})")
      endif()
    endif()
  endif()
  if(why)
    set(${tried_out} ${${tried_out}} "${origin}, ${candidate}: ${why}" PARENT_SCOPE)
  else()
    set(${root_out} "${candidate}" PARENT_SCOPE)
  endif()
endfunction()

# Installs the wheels of a toolkit with pip into a separate folder, so that no Python environment
# changes. An empty version is the oldest one.
function(_flotilla_cuda_wheels version root_out tried_out)
  if(NOT version)
    set(version 13.0)
  endif()
  set(wheels "${FLOTILLA_CUDA_WHEELS_LISTS}/${version}.txt")
  if(NOT EXISTS "${wheels}")
    file(GLOB known RELATIVE "${FLOTILLA_CUDA_WHEELS_LISTS}" "${FLOTILLA_CUDA_WHEELS_LISTS}/*.txt")
    list(TRANSFORM known REPLACE "(.*)\\.txt" "wheels:\\1")
    list(JOIN known ", " known)
    set(${tried_out} ${${tried_out}} "NVIDIA's wheels: there is no list for the version ${version}. FLOTILLA_CUDA can be ${known}" PARENT_SCOPE)
    return()
  endif()
  set(dir "${FLOTILLA_CUDA_WHEELS_DIR}/${version}")
  set(stamp "${dir}/complete.txt")
  file(READ "${wheels}" wanted)
  set(have "")
  if(EXISTS "${stamp}")
    file(READ "${stamp}" have)
  endif()
  if(NOT have STREQUAL wanted)
    set(pip "")
    foreach(python python3 /usr/bin/python3)  # python3 on the path may have no pip
      execute_process(COMMAND ${python} -m pip --version
                      RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
      if(status EQUAL 0)
        set(pip ${python} -m pip)
        break()
      endif()
    endforeach()
    if(NOT pip)
      set(${tried_out} ${${tried_out}} "NVIDIA's wheels: there is no python3 with pip" PARENT_SCOPE)
      return()
    endif()
    message(STATUS "Getting the CUDA toolkit's wheels (about 100 MB) into ${dir}")
    file(REMOVE_RECURSE "${dir}")
    execute_process(
      COMMAND ${pip} install --disable-pip-version-check --no-input --no-deps
              --no-warn-conflicts --only-binary :all: --require-hashes
              --target "${dir}" --requirement "${wheels}"
      RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT status EQUAL 0)
      string(REPLACE ";" "," output "${output}")
      string(REGEX MATCHALL "(ERROR|Could not)[^\n]*" reasons "${output}")  # without the messages about retries
      list(JOIN reasons "\n    " reasons)
      set(${tried_out} ${${tried_out}} "NVIDIA's wheels with pip:\n    ${reasons}" PARENT_SCOPE)
      return()
    endif()
    file(WRITE "${stamp}" "${wanted}")  # written last, so that an incomplete folder is never used
  endif()
  _flotilla_cuda_check("${dir}/nvidia/cu13" "NVIDIA's wheels" ${root_out} ${tried_out})
  set(${root_out} "${${root_out}}" PARENT_SCOPE)
  set(${tried_out} "${${tried_out}}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  flotilla_find_cuda()
endif()

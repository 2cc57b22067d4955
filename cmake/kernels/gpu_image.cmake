# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Code for GPUs: functions of flotilla_add_kernels().
include_guard(GLOBAL)

# Builds work/gpu.fatbin, which contains code for each architecture, and PTX.
# If `scan` is not empty, the image is only for GPUs, and `scan` holds options of scan_kernels.cmake.
# If `fused` is true, the image has twins of its kernels, which needs the target flotilla::make_twins.
function(_flotilla_gpu_image work common sources types scan fused)
  if(NOT FLOTILLA_NVCC)
    flotilla_find_cuda()  # if there is no toolkit, it stops with a list of the places it tried
  endif()
  set(nvcc "${FLOTILLA_NVCC}")
  set(architectures 80 90 100)
  if(FLOTILLA_CUDA_ARCHITECTURES)
    set(architectures ${FLOTILLA_CUDA_ARCHITECTURES})
  endif()
  list(GET architectures 0 oldest)
  list(GET architectures -1 newest)  # the image also has its PTX, which later GPUs run

  set(host -ccbin "${CMAKE_CXX_COMPILER}" -allow-unsupported-compiler -Wno-deprecated-gpu-targets)
  set(compile "${nvcc}" -std=c++17 ${common} -include flotilla/kernel_language.hpp
      ${host} ${FLOTILLA_NVCC_FLAGS})
  set(scripts "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  string(REPLACE " " "\\ " escaped_work "${work}")  # nvcc writes the argument of -MT as it is
  set(inputs ${sources} ${types} "${work}/all.cu" "${work}/sources.txt")
  set(source "${work}/all.cu")
  if(scan)
    set(source "${work}/gpu.cu")
    _flotilla_scan_for_gpus()
    list(APPEND inputs "${source}")
  endif()
  if(fused)
    _flotilla_fused_fatbin()
  else()
    _flotilla_plain_fatbin()
  endif()
endfunction()

# Makes the source of an image for GPUs only: work/gpu.cu. The macro uses variables of
# _flotilla_gpu_image.
macro(_flotilla_scan_for_gpus)
  # The same folder can have several names, because some may be links.
  cmake_path(GET nvcc PARENT_PATH bin)
  file(REAL_PATH "${bin}/.." root)
  set(toolkit "${bin}/..|${root}|${FLOTILLA_CUDA_INCLUDE_DIR}")
  cmake_path(GET bin PARENT_PATH link)
  string(APPEND toolkit "|${link}")
  cmake_path(GET work FILENAME name)
  # nvcc refuses -MD together with -E, so awk makes the depfile from the line markers. The source is
  # touched because the script does not write it if it would be the same.
  add_custom_command(
    OUTPUT "${source}"
    BYPRODUCTS "${work}/include/${name}.hpp" "${work}/include/${name}.h" "${work}/gpu_only.txt"
    DEPFILE "${work}/gpu.scan.d"
    DEPENDS ${inputs} "${scripts}/scan_kernels.cmake" "${scripts}/kernel_handles.cmake"
            "${scripts}/included_files.awk" "${scripts}/without_toolkit.awk"
    COMMAND ${compile} -arch=sm_${oldest} -E "${work}/all.cu" -o "${work}/all.ii"
    COMMAND awk -v "target=${source}" -f "${scripts}/included_files.awk" "${work}/all.ii"
            > "${work}/gpu.scan.d"
    COMMAND "${CMAKE_COMMAND}" ${scan} -D GPU_ONLY=ON -D "TOOLKIT=${toolkit}"
            -D "PREPROCESSED=${work}/all.ii" -D "OUTPUT=${source}"
            -P "${scripts}/scan_kernels.cmake"
    COMMAND "${CMAKE_COMMAND}" -E touch "${source}"
    COMMENT "Scanning kernels for GPUs: ${source}"
    VERBATIM COMMAND_EXPAND_LISTS)
endmacro()

# Without twins, one call of nvcc does everything. The macro uses variables of _flotilla_gpu_image.
macro(_flotilla_plain_fatbin)
  set(targets "")
  foreach(architecture IN LISTS architectures)
    list(APPEND targets "-gencode=arch=compute_${architecture},code=sm_${architecture}")
  endforeach()
  list(APPEND targets "-gencode=arch=compute_${newest},code=compute_${newest}")
  add_custom_command(
    OUTPUT "${work}/gpu.fatbin"
    DEPFILE "${work}/gpu.d"
    DEPENDS ${inputs}
    COMMAND ${compile} -O3 ${targets}
            -MD -MF "${work}/gpu.d" -MT "${escaped_work}/gpu.fatbin"
            -fatbin "${source}" -o "${work}/gpu.fatbin"
    COMMENT "Kernels for GPUs: ${work}/gpu.fatbin"
    VERBATIM COMMAND_EXPAND_LISTS)
endmacro()

# With twins, each architecture is compiled to PTX, the twins are added to the PTX, and the result is
# assembled. The build can run the steps of different architectures in parallel. Each has its own
# depfile, because a source may include a header for one architecture only. The macro uses variables
# of _flotilla_gpu_image.
macro(_flotilla_fused_fatbin)
  _flotilla_fatbinary("${nvcc}" fatbinary)
  set(pairs "")
  set(with_twins "")
  set(cubins "")
  set(images "")
  foreach(architecture IN LISTS architectures)
    set(file "${work}/gpu.${architecture}")
    add_custom_command(
      OUTPUT "${file}.ptx"
      DEPFILE "${file}.d"
      DEPENDS ${inputs}
      COMMAND ${compile} -O3 -arch=compute_${architecture}
              -MD -MF "${file}.d" -MT "${escaped_work}/gpu.${architecture}.ptx"
              -ptx "${source}" -o "${file}.ptx"
      COMMENT "Kernels for GPUs: ${file}.ptx"
      VERBATIM COMMAND_EXPAND_LISTS)
    add_custom_command(
      OUTPUT "${file}.cubin"
      DEPENDS "${file}.twins.ptx"
      COMMAND "${nvcc}" ${host} ${FLOTILLA_NVCC_FLAGS} -O3 -arch=sm_${architecture}
              -cubin "${file}.twins.ptx" -o "${file}.cubin"
      COMMENT "Kernels for GPUs: ${file}.cubin"
      VERBATIM COMMAND_EXPAND_LISTS)
    list(APPEND pairs "${file}.ptx" "${file}.twins.ptx")
    list(APPEND with_twins "${file}.twins.ptx")
    list(APPEND cubins "${file}.cubin")
    list(APPEND images "--image3=kind=elf,sm=${architecture},file=${file}.cubin")
  endforeach()
  list(APPEND images "--image3=kind=ptx,sm=${newest},file=${work}/gpu.${newest}.twins.ptx")
  list(TRANSFORM with_twins REPLACE "\\.twins\\.ptx$" ".ptx" OUTPUT_VARIABLE without_twins)
  add_custom_command(
    OUTPUT ${with_twins}
    DEPENDS ${without_twins} "$<TARGET_FILE:flotilla::make_twins>"
    COMMAND "$<TARGET_FILE:flotilla::make_twins>" ${pairs}
    COMMENT "Twins of kernels: ${work}"
    VERBATIM COMMAND_EXPAND_LISTS)
  _flotilla_assembler_options("${nvcc}" "${host};${FLOTILLA_NVCC_FLAGS};-O3" ${newest} options)
  add_custom_command(
    OUTPUT "${work}/gpu.fatbin"
    DEPENDS ${cubins} ${with_twins}
    COMMAND "${fatbinary}" "--create=${work}/gpu.fatbin" -64 ${options} ${images}
    COMMENT "Kernels for GPUs: ${work}/gpu.fatbin"
    VERBATIM COMMAND_EXPAND_LISTS)
endmacro()

# Finds fatbinary, a program of the toolkit, in the folder of nvcc.
function(_flotilla_fatbinary nvcc result)
  cmake_path(GET nvcc PARENT_PATH bin)
  file(REAL_PATH "${nvcc}" real)
  cmake_path(GET real PARENT_PATH real_bin)
  find_program(fatbinary fatbinary PATHS "${bin}" "${real_bin}" "${FLOTILLA_CUDA_ROOT}/bin"
               NO_CACHE NO_DEFAULT_PATH)
  if(NOT fatbinary)
    message(FATAL_ERROR "flotilla_add_kernels: the toolkit's program fatbinary is not in the folder "
      "of nvcc, ${bin}. Install the whole toolkit; or pass FUSED OFF, which makes an image without "
      "twins.")
  endif()
  set(${result} "${fatbinary}" PARENT_SCOPE)
endfunction()

# Returns the options of fatbinary that keep the user's options for the assembler, such as
# -maxrregcount. A driver that assembles the PTX uses them. nvcc itself says which they are.
function(_flotilla_assembler_options nvcc flags architecture result)
  execute_process(
    COMMAND "${nvcc}" ${flags} --dryrun -fatbin
            "-gencode=arch=compute_${architecture},code=[sm_${architecture},compute_${architecture}]"
            any.ptx -o any.fatbin
    RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT status EQUAL 0 OR NOT said MATCHES "fatbinary --create=[^\n]*")
    message(FATAL_ERROR "flotilla_add_kernels: nvcc does not accept the options ${flags}:\n${said}")
  endif()
  set(command "${CMAKE_MATCH_0}")
  set(options "")
  if(command MATCHES "--cmdline=\"([^\"]*)\"")
    list(APPEND options "--cmdline=${CMAKE_MATCH_1}")
  endif()
  if(command MATCHES " -g ")
    list(APPEND options -g)
  endif()
  set(${result} "${options}" PARENT_SCOPE)
endfunction()

# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# flotilla_add_kernels(TARGET file.cu… [NAME name] [DEFINITIONS NAME[=value]…]
#                      [INCLUDE_DIRECTORIES dir…] [TYPES header…] [GPU_ONLY] [FUSED ON|OFF])
#
# Compiles the kernels in the files for GPUs and for CPU devices, and embeds both results into TARGET
# as one image. TARGET is a library or a program:
#
#   #include "<name>.hpp"                  // declares <name>, a const flotilla::image
#
#   flotilla::program const program = rt.load(<name>);
#   auto const saxpy = program.kernel(<name>.saxpy);      // has the parameter types of the source
#
# The build writes this header, and adds its folder to the include path of TARGET and of targets that
# link to TARGET. The image has one member for each kernel, its handle. For C, the build also writes
# <name>.h, which declares <name>_for_c, a const flotilla_image (docs/c.md). The C function
# <name>_for_fortran returns the address of <name>_for_c (docs/fortran.md). The default of `name` is
# TARGET_kernels. If a target has several images, give each of them a different name. The files of one
# call are compiled together, as one translation unit, so helper functions in different files need
# different names. Kernels must be declared as `extern "C" __global__ void kernel(...)`, and at least
# one of them must compile for CPU devices. The build includes <flotilla/kernel_language.hpp> before
# the first line of each file. That header describes the kernel language.
#
# TYPES     Headers that define types of kernel parameters, for the handles. The generated header
#           includes them, so the host compiler must be able to compile them. A header is a path
#           relative to the current source folder, or a name for `#include <…>`. The types of
#           parameters are copied as the source writes them, so an alias and a using-declaration of
#           the source are not known either. A kernel with a type that the host compiler does not
#           know gets no handle: program::kernel(image.name) does not compile, and the generated
#           header names the type. flotilla::task_status and flotilla::view need no TYPES, but the
#           source must include <flotilla/data/view.hpp> to use views. For float4 and other vector
#           types of CUDA: TYPES flotilla/kernel_language/vector_types.hpp.
# GPU_ONLY  Only nvcc compiles the files. So they may use all of CUDA: half, tensor cores, CUB,
#           cooperative groups, clusters, inline PTX, extern __shared__. On CPU devices the program
#           loads, and program::kernel throws gpu_only_kernel. The option applies to all files of
#           the call. A target with both kinds of kernels has two calls with different names. The
#           option needs nvcc: it is an error if FLOTILLA_GPU_KERNELS is OFF.
# FUSED     If ON, which is the default, the image has a twin of each suitable kernel, with which one
#           grid carries many tasks. The build prints a line for each kernel without a twin. With
#           OFF the image has no twins. See docs/kernels.md.
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
include("${CMAKE_CURRENT_LIST_DIR}/kernels/gpu_image.cmake")

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
  cmake_parse_arguments(PARSE_ARGV 1 arg "GPU_ONLY" "NAME;FUSED"
                        "FILES;DEFINITIONS;INCLUDE_DIRECTORIES;TYPES")
  set(files ${arg_UNPARSED_ARGUMENTS} ${arg_FILES})  # the keyword FILES is optional
  if(NOT TARGET ${target})
    message(FATAL_ERROR "flotilla_add_kernels: there is no target ${target}; define it first")
  endif()
  if(NOT files)
    message(FATAL_ERROR "flotilla_add_kernels(${target}): needs at least one .cu file")
  endif()
  if(arg_GPU_ONLY AND DEFINED FLOTILLA_GPU_KERNELS AND NOT FLOTILLA_GPU_KERNELS)
    message(FATAL_ERROR "flotilla_add_kernels(${target}): GPU_ONLY needs nvcc, but "
            "FLOTILLA_GPU_KERNELS is OFF; turn it on, or leave this call out")
  endif()
  if(NOT DEFINED arg_FUSED)
    set(arg_FUSED ON)
    if(FUSED IN_LIST arg_KEYWORDS_MISSING_VALUES)
      message(FATAL_ERROR "flotilla_add_kernels(${target}): FUSED needs a value: ON or OFF")
    endif()
  endif()
  if(arg_FUSED AND NOT TARGET flotilla::make_twins
     AND (NOT DEFINED FLOTILLA_GPU_KERNELS OR FLOTILLA_GPU_KERNELS))
    message(FATAL_ERROR "flotilla_add_kernels(${target}): there is no target flotilla::make_twins, "
      "the program that adds twins to kernels for GPUs. Use find_package(flotilla), or "
      "add_subdirectory with flotilla's sources; or pass FUSED OFF, which makes an image without "
      "twins.")
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

  set(scan -D "NAME=${name}" -D "TARGET=${target}" -D "WORK=${work}"
      -D "COMPILER=${CMAKE_CXX_COMPILER}" -D "SOURCES=${work}/sources.txt")
  _flotilla_types("${work}" ${target} "${common}" "${arg_TYPES}" types)

  set(parts gpu)
  if(NOT arg_GPU_ONLY)
    _flotilla_cpu_image("${work}" "${common}" "${sources}" "${types}" "${scan}")
    set(parts cpu)
  endif()
  if(NOT DEFINED FLOTILLA_GPU_KERNELS OR FLOTILLA_GPU_KERNELS)
    set(gpu_scan "")
    if(arg_GPU_ONLY)
      set(gpu_scan "${scan}")
    endif()
    _flotilla_gpu_image("${work}" "${common}" "${sources}" "${types}" "${gpu_scan}" "${arg_FUSED}")
    list(APPEND parts gpu)
    list(REMOVE_DUPLICATES parts)
  endif()
  _flotilla_embed("${work}" ${target} ${name} "${parts}" "${arg_GPU_ONLY}")
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${work}/include>" "$<BUILD_INTERFACE:${flotilla_include}>")
  target_compile_features(${target} PRIVATE cxx_std_20)
endfunction()

# Writes work/types.txt, the lines that include the headers of TYPES, and work/host.rsp, the options
# with which the host compiler checks the types. Sets `result` to the files on which the handles
# depend.
function(_flotilla_types work target common types result)
  set(lines "")
  set(files "")
  foreach(type IN LISTS types)
    cmake_path(ABSOLUTE_PATH type BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE
               OUTPUT_VARIABLE file)
    if(EXISTS "${file}")
      string(APPEND lines "#include \"${file}\"\n")
      list(APPEND files "${file}")
    else()
      string(APPEND lines "#include <${type}>\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT "${work}/types.txt" CONTENT "${lines}" @ONLY)
  # The compiler splits the file at white space, so an option with a path is quoted.
  set(options "")
  foreach(option IN LISTS common)
    string(REGEX REPLACE "([\\\"])" "\\\\\\1" option "${option}")
    string(APPEND options "\"${option}\"\n")
  endforeach()
  set(dirs "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  file(GENERATE OUTPUT "${work}/host.rsp" CONTENT
    "${CMAKE_CXX_FLAGS}\n-std=c++20\n${options}$<$<BOOL:${dirs}>:\"-I$<JOIN:${dirs},\"\n\"-I>\">\n")
  set(${result} "${work}/types.txt" ${files} PARENT_SCOPE)
endfunction()

# Builds work/cpu.so, a shared object that the CPU driver loads. It does not link to flotilla. `scan`
# holds options of scan_kernels.cmake. If `types` is empty, there is no header with handles.
function(_flotilla_cpu_image work common sources types scan)
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

  cmake_path(GET work FILENAME name)
  set(products "")
  if(types)
    set(products BYPRODUCTS "${work}/include/${name}.hpp" "${work}/include/${name}.h")
  endif()
  # The preprocessor call needs no -MD, because the compilation below writes the same dependencies.
  add_custom_command(
    OUTPUT "${work}/cpu.so"
    ${products}
    DEPFILE "${work}/cpu.d"
    DEPENDS ${sources} ${types} "${work}/all.cu" "${work}/sources.txt"
            "${scripts}/scan_kernels.cmake" "${scripts}/kernel_handles.cmake"
            "${scripts}/cpu_image.map"
    COMMAND "${CMAKE_CXX_COMPILER}" ${flags} ${common} -DFLOTILLA_KERNEL_SCAN
            -E -x c++ "${work}/all.cu" -o "${work}/all.ii"
    COMMAND "${CMAKE_COMMAND}" ${scan} -D "PREPROCESSED=${work}/all.ii"
            -D "OUTPUT=${work}/cpu.cpp" -P "${scripts}/scan_kernels.cmake"
    COMMAND "${CMAKE_CXX_COMPILER}" ${flags} ${common} -include flotilla/kernel_language.hpp
            -MD -MF "${work}/cpu.d" -MT "${work}/cpu.so"
            -shared -Wl,--as-needed "-Wl,--version-script=${scripts}/cpu_image.map"
            -x c++ "${work}/cpu.cpp" -o "${work}/cpu.so"
    COMMENT "Kernels for CPU devices: ${work}/cpu.so"
    VERBATIM COMMAND_EXPAND_LISTS)
endfunction()

# Adds the bytes of the image to the target.
function(_flotilla_embed work target name parts gpu_only)
  set(scripts "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kernels")
  set(files "")
  if(cpu IN_LIST parts)
    list(APPEND files "${work}/cpu.so")
  endif()
  if(gpu IN_LIST parts)
    list(APPEND files "${work}/gpu.fatbin")
  endif()
  add_custom_command(
    OUTPUT "${work}/${name}.cpp"
    DEPENDS ${files} "${scripts}/embed.cmake"
    COMMAND "${CMAKE_COMMAND}" -D "NAME=${name}" -D "TARGET=${target}" -D "PARTS=${parts}"
            -D "WORK=${work}" -D "GPU_ONLY=${gpu_only}" -P "${scripts}/embed.cmake"
    COMMENT "Embedding ${name}"
    VERBATIM)
  set_source_files_properties("${work}/${name}.cpp" PROPERTIES
    OBJECT_DEPENDS "${files}"
    COMPILE_OPTIONS "-fno-lto"  # link-time optimisation does not see symbols of assembler code
    SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${work}/${name}.cpp")
endfunction()

cmake_policy(POP)

# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Writes the source of a CPU image: the kernels, and a table of the kernels and variables. With NAME,
# also writes the header of the image (kernel_handles.cmake).
#
#   cmake -D SOURCES=<file with one path per line> -D PREPROCESSED=<file> -D OUTPUT=<file>
#         [-D NAME=<image> -D TARGET=<target> -D WORK=<folder> -D COMPILER=<host compiler>]
#         [-D GPU_ONLY=ON -D TOOLKIT=<folder>|...] -P scan_kernels.cmake
#
# With GPU_ONLY, PREPROCESSED is the output of nvcc's preprocessor, every feature of CUDA is allowed,
# and OUTPUT is a source for nvcc. The script ignores headers in the folders TOOLKIT. It also writes
# WORK/gpu_only.txt, a list of the kernels.
#
# Otherwise PREPROCESSED is the output of the host's preprocessor for the kernel sources. It has no comments,
# conditions or macros. The preprocessor ran with FLOTILLA_KERNEL_SCAN, so CUDA's keywords are not
# replaced. Line markers tell the origin of each line. The script skips lines of system headers.
#
# The script finds kernels (name, launch bounds) and variables. The compiler later deduces their types
# from the names. If the code contains a feature that CPU devices do not have, the script reports an
# error with file and line.
cmake_minimum_required(VERSION 3.20)
include("${CMAKE_CURRENT_LIST_DIR}/kernel_handles.cmake")

# Entries of the form `regular expression|error message`.
set(refused "")
# refuse(<feature> <name> <regular expression>): adds a feature of CUDA that CPU devices do not have.
macro(refuse what name expression)
  list(APPEND refused "${expression}|${what} (${name}): not available on CPU devices")
endmacro()
set(b "(^|[^A-Za-z0-9_])")  # before a word
set(e "([^A-Za-z0-9_]|$)")  # after it
set(call "[A-Za-z0-9_]* *[(<]")
refuse("launches in a kernel source" "<<<>>>" "<<<")
refuse("inline assembly" "asm" "${b}(asm|__asm__|__asm)${e}")
refuse("managed variables" "__managed__" "${b}__managed__${e}")
refuse("block clusters" "__cluster_dims__" "${b}__cluster_dims__${e}")
refuse("cooperative groups" "cooperative_groups" "${b}cooperative_groups${e}")
refuse("warp matrix functions" "nvcuda::wmma" "${b}nvcuda${e}")
refuse("texture references" "texture<>" "${b}texture *<")
refuse("textures" "cudaTextureObject_t" "${b}cudaTextureObject_t${e}")
refuse("texture fetches" "tex1D, tex2D, ..." "${b}tex(1D|2D|3D|Cubemap)${call}")
refuse("surface references" "surface<>" "${b}surface *<")
refuse("surfaces" "cudaSurfaceObject_t" "${b}cudaSurfaceObject_t${e}")
refuse("surface functions" "surf2Dread, ..." "${b}surf(1D|2D|3D|Cubemap)${call}")
refuse("functions of the device runtime" "cudaMalloc, cudaLaunchDevice, ..."
       "${b}cuda(Launch|Malloc|Memcpy|Memset|Stream|Event|Device)[A-Z]${call}")
list(APPEND refused
  "extern +__shared__|extern __shared__ is not for host compilers: write FLOTILLA_DYNAMIC_SHARED"
  "__shared__ +extern|extern __shared__ is not for host compilers: write FLOTILLA_DYNAMIC_SHARED")

# Characters that no source contains. The first four replace `;`, `[`, `]` and `\`, which have a
# meaning in CMake's lists and regular expressions.
string(ASCII 1 SEMICOLON)
string(ASCII 2 OPEN)
string(ASCII 3 CLOSE)
string(ASCII 4 BACKSLASH)
string(ASCII 5 MARK)  # each line begins with: MARK file-number:line MARK

if(GPU_ONLY)
  # The headers of CUDA and CUB have 300000 lines, which would take minutes here.
  execute_process(
    COMMAND awk -v "toolkit=${TOOLKIT}" -f "${CMAKE_CURRENT_LIST_DIR}/without_toolkit.awk"
            "${PREPROCESSED}"
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "__attribute__((global))" "__global__" text "${text}")
  set(refused "")
else()
  file(READ "${PREPROCESSED}" text)
endif()
string(REPLACE ";" "${SEMICOLON}" text "${text}")
string(REPLACE "[" "${OPEN}" text "${text}")
string(REPLACE "]" "${CLOSE}" text "${text}")
string(REPLACE "\\" "${BACKSLASH}" text "${text}")
string(REGEX REPLACE "(^|\n)# ([0-9]+ \")" "\n;\\2" chunks "${text}")

set(errors "")
set(files "")
set(source "")  # the text that is searched, without literals

foreach(chunk IN LISTS chunks)
  # A chunk is: <line> "<file>" <flags>, then the text. Flag 3 means a system header.
  if(NOT chunk MATCHES "^([0-9]+) \"([^\"\n]*)\"([^\n]*)\n(.*)$")
    continue()
  endif()
  set(line "${CMAKE_MATCH_1}")
  set(file "${CMAKE_MATCH_2}")
  set(flags "${CMAKE_MATCH_3}")
  set(body "${CMAKE_MATCH_4}")
  if(flags MATCHES " 3" OR file MATCHES "^<" OR NOT body MATCHES "[^ \n]")
    continue()
  endif()
  list(FIND files "${file}" number)
  if(number EQUAL -1)
    list(LENGTH files number)
    list(APPEND files "${file}")
  endif()
  string(REPLACE "\n" ";" lines "${body}")
  foreach(content IN LISTS lines)
    if(content MATCHES "[^ \t]")
      # Remove character literals first, because a character literal may contain a quotation mark.
      # Then remove all string literals except the one in `extern "C"`.
      string(REGEX REPLACE "'(${BACKSLASH}'|${BACKSLASH}[^']+|[^'${BACKSLASH}])'" "0" content
             "${content}")
      string(REGEX REPLACE "extern[ \t]+\"C(\\+\\+)?\"" "extern_C" content "${content}")
      string(REGEX REPLACE "\"([^\"${BACKSLASH}]|${BACKSLASH}.)*\"" "0" content "${content}")
      foreach(entry IN LISTS refused)
        string(REGEX MATCH "^(.*)\\|([^|]*)$" _ "${entry}")
        set(expression "${CMAKE_MATCH_1}")
        set(message "${CMAKE_MATCH_2}")
        if(content MATCHES "${expression}")
          string(APPEND errors "${file}:${line}: error: ${message}\n")
        endif()
      endforeach()
      string(APPEND source "${MARK}${number}:${line}${MARK}${content}\n")
    endif()
    math(EXPR line "${line} + 1")
  endforeach()
endforeach()

# Divides the source into statements. A statement ends with `{`, `}` or `;`.
string(REGEX REPLACE "([{}${SEMICOLON}])" "\\1;" statements "${source}")

set(scopes "")        # for each open brace: `C` (extern "C"), `N<name>` (namespace) or `B` (other)
set(kernels "")       # lines of the table
set(globals "")
set(seen_kernels "")
set(without_twin "")  # kernels that FLOTILLA_NO_TWIN names
# parentheses, nested up to four deep
set(parens "[(]([^()]|[(]([^()]|[(]([^()]|[(][^()]*[)])*[)])*[)])*[)]")

foreach(statement IN LISTS statements)
  string(REGEX MATCH "[{}${SEMICOLON}]$" delimiter "${statement}")
  if(statement MATCHES "${MARK}([0-9]+):([0-9]+)${MARK}[^${MARK}]*__global__")
    list(GET files ${CMAKE_MATCH_1} file)
    set(where "${file}:${CMAKE_MATCH_2}")
  elseif(statement MATCHES "${MARK}([0-9]+):([0-9]+)${MARK}")
    list(GET files ${CMAKE_MATCH_1} file)
    set(where "${file}:${CMAKE_MATCH_2}")
  endif()
  string(REGEX REPLACE "${MARK}[0-9]+:[0-9]+${MARK}" " " plain "${statement}")
  string(REGEX REPLACE "[ \t\n]+" " " plain "${plain}")

  if(delimiter STREQUAL "}")
    list(POP_BACK scopes)
    continue()
  endif()

  # Kernels and variables are only at file level, in namespaces and in extern "C" blocks.
  set(outside TRUE)
  set(extern_c FALSE)
  set(unnamed FALSE)
  set(qualification "")
  foreach(scope IN LISTS scopes)
    if(scope STREQUAL "B")
      set(outside FALSE)
    elseif(scope STREQUAL "C")
      set(extern_c TRUE)
    elseif(scope STREQUAL "N")
      set(unnamed TRUE)
    elseif(scope MATCHES "^N(.+)$")
      string(APPEND qualification "${CMAKE_MATCH_1}::")
    endif()
  endforeach()

  set(opens "B")
  if(outside)
    if(plain MATCHES "(^| )(inline )?namespace ?([A-Za-z0-9_:]*) ?{$")
      set(opens "N${CMAKE_MATCH_3}")
    elseif(plain MATCHES "^ *extern_C ?{$")
      set(opens "C")
    elseif(delimiter STREQUAL "{" AND plain MATCHES "__global__")
      set(bound "0")
      string(REGEX MATCH "__launch_bounds__ ?${parens}" bounds "${plain}")
      if(bounds)
        string(REPLACE "${bounds}" "" plain "${plain}")
        string(REGEX REPLACE "^__launch_bounds__ ?" "launch_bound" bound "${bounds}")
      endif()
      string(REGEX REPLACE "__attribute__ ?${parens}" "" plain "${plain}")
      if(plain MATCHES "([A-Za-z_][A-Za-z0-9_]*) ?[(]")
        set(name "${CMAKE_MATCH_1}")
        set(is_found_by_name TRUE)
        if(plain MATCHES "(^| )template ?<" OR unnamed OR
           (NOT extern_c AND NOT plain MATCHES "(^| )extern_C "))
          set(is_found_by_name FALSE)
        endif()
        if(GPU_ONLY AND NOT is_found_by_name)
          # Other code of the source may use such a kernel.
        elseif(plain MATCHES "(^| )template ?<")
          string(APPEND errors "${where}: error: kernel ${name} is a template, which cannot be found "
            "by name on a GPU; write extern \"C\" __global__ functions that call a __device__ template\n")
        elseif(NOT extern_c AND NOT plain MATCHES "(^| )extern_C ")
          string(APPEND errors "${where}: error: kernel ${name} is not extern \"C\", and nvcc would "
            "mangle its name; write extern \"C\" __global__ void ${name}(...)\n")
        elseif(unnamed)
          string(APPEND errors "${where}: error: kernel ${name} is in an unnamed namespace, where "
            "nvcc changes its name; move it out\n")
        elseif(name IN_LIST seen_kernels)
          string(APPEND errors "${where}: error: kernel ${name} is defined twice\n")
        else()
          list(APPEND seen_kernels "${name}")
          string(REGEX REPLACE "__grid_constant__" "" declared "${plain}")
          string(REGEX REPLACE "^.*[^A-Za-z0-9_]${name} ?[(](.*)[)] ?{$" "\\1" declared "${declared}")
          string(REPLACE "${SEMICOLON}" ";" declared "${declared}")
          string(REPLACE "${OPEN}" "[" declared "${declared}")
          string(REPLACE "${CLOSE}" "]" declared "${declared}")
          string(STRIP "${declared}" parameters_of_${name})
          set(qualified_${name} "::${qualification}${name}")
          string(APPEND kernels
                 "  kernel<&::${qualification}${name}>::record(\"${name}\", ${bound}),\n")
        endif()
      endif()
    elseif(plain MATCHES "(^| )(FLOTILLA_NO_TWIN ?[(] ?|flotilla_no_twin_)([A-Za-z0-9_]+) ?[)=]")
      # The preprocessor has replaced the macro in sources for GPUs only.
      set(kernel "${CMAKE_MATCH_3}")
      list(APPEND without_twin "${kernel}")
      set(where_no_twin_${kernel} "${where}")
      set(name "flotilla_no_twin_${kernel}")
      string(APPEND globals "  global(\"${name}\", ::${qualification}${name}),\n")
    elseif(plain MATCHES "(__device__|__constant__)" AND qualification STREQUAL "" AND NOT unnamed
           AND NOT plain MATCHES "(^| )(static|constexpr|using|typedef) "
           AND (NOT plain MATCHES "(^| )const " OR plain MATCHES "[*]"))
      # Keep the declaration of a variable without its initialiser. Static and const variables and
      # variables in a namespace do not count, because a GPU cannot find them by name either. A
      # declaration with parentheses is a function.
      string(REGEX REPLACE "=.*$" "" declaration "${plain}")
      string(REGEX REPLACE "(__align__|__attribute__|alignas) ?${parens}" "" declaration
             "${declaration}")
      string(REGEX REPLACE "[{${SEMICOLON}]$" "" declaration "${declaration}")
      string(REGEX REPLACE "${OPEN}[^${CLOSE}]*${CLOSE}" " " declaration "${declaration}")
      if(NOT declaration MATCHES "[()]" AND NOT declaration MATCHES "(^| )extern "
         AND NOT declaration MATCHES "(struct|class|union|enum) [A-Za-z0-9_]* ?$")
        # For `int a, b`, the name is the last word of each part, outside template arguments.
        string(REGEX REPLACE "<[^<>]*>" "" declaration "${declaration}")
        string(REPLACE "," ";" declarators "${declaration}")
        foreach(declarator IN LISTS declarators)
          if(declarator MATCHES "([A-Za-z_][A-Za-z0-9_]*) *$")
            set(name "${CMAKE_MATCH_1}")
            string(APPEND globals "  global(\"${name}\", ::${name}),\n")
          endif()
        endforeach()
      endif()
    endif()
  endif()
  if(delimiter STREQUAL "{")
    list(APPEND scopes "${opens}")
  endif()
endforeach()

if(errors)
  message(NOTICE "${errors}")  # like compiler errors, so that editors find the lines
  message(FATAL_ERROR "flotilla_add_kernels: these kernels cannot be compiled for CPU devices. "
          "Put code for GPUs only between #ifdef __CUDACC__ and #endif, or compile sources for GPUs "
          "only with the option GPU_ONLY.")
endif()

foreach(kernel IN LISTS without_twin)
  # A mangled name may be that of a template's instance, which this script does not know.
  if(NOT kernel IN_LIST seen_kernels AND NOT kernel MATCHES "^_Z")
    message(NOTICE "${where_no_twin_${kernel}}: error: FLOTILLA_NO_TWIN(${kernel}): the sources have "
            "no kernel ${kernel}")
    message(FATAL_ERROR "flotilla_add_kernels: FLOTILLA_NO_TWIN must name a kernel of the image.")
  endif()
endforeach()
if(GPU_ONLY AND NOT seen_kernels)
  file(STRINGS "${SOURCES}" paths)
  list(JOIN paths " " paths)
  message(NOTICE "${paths}: error: no kernel: write extern \"C\" __global__ void NAME(...) { ... }")
  message(FATAL_ERROR "flotilla_add_kernels: the sources define no kernel.")
endif()
if(NOT kernels)
  # Look for kernels that the preprocessor has removed.
  file(STRINGS "${SOURCES}" paths)
  foreach(path IN LISTS paths)
    file(READ "${path}" text)
    string(FIND "${text}" "__global__" begin)
    if(NOT begin EQUAL -1)
      string(SUBSTRING "${text}" 0 ${begin} text)
      string(REGEX REPLACE "[^\n]" "" newlines "${text}")
      string(LENGTH "${newlines}" line)
      math(EXPR line "${line} + 1")
      message(NOTICE "${path}:${line}: error: no kernel is left for CPU devices: all __global__ "
              "functions are for GPUs only, or a macro removes them")
      message(FATAL_ERROR "flotilla_add_kernels: at least one kernel must be compiled for CPU "
              "devices. Move a kernel out of the part between #ifdef __CUDACC__ and #endif, and "
              "do not include headers of CUDA that define __global__ as a macro.")
    endif()
  endforeach()
  list(JOIN paths " " paths)
  message(NOTICE "${paths}: error: no kernel: write extern \"C\" __global__ void NAME(...) { ... }")
  message(FATAL_ERROR "flotilla_add_kernels: the sources define no kernel.")
endif()

file(STRINGS "${SOURCES}" sources)
set(includes "")
foreach(source IN LISTS sources)
  string(APPEND includes "#include \"${source}\"\n")
endforeach()
set(checks "")
if(NAME)
  flotilla_write_header("${seen_kernels}" typed untyped)
  flotilla_check_handles(checks "${typed}")
endif()
if(GPU_ONLY)
  list(JOIN seen_kernels "\n" names)
  file(CONFIGURE OUTPUT "${WORK}/gpu_only.txt" CONTENT "${names}\n" @ONLY)
  file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY
       CONTENT "// Written by flotilla_add_kernels().\n${includes}${checks}")
  return()
endif()
set(global_table "constexpr global_record* globals_table = nullptr;")
set(global_count 0)
if(globals)
  set(global_table "global_record const globals_table[] = {\n${globals}};")
  set(global_count "sizeof globals_table / sizeof *globals_table")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
// Written by flotilla_add_kernels().
@includes@
#include <flotilla/kernel_language/image_definitions.hpp>
@checks@

namespace flotilla::cpu::language {

static constexpr kernel_record kernels_table[] = {
@kernels@};

static @global_table@

extern "C" __attribute__((visibility("default"), used)) cpu_image const flotilla_cpu_image = {
  cpu_image::current_abi, sizeof kernels_table / sizeof *kernels_table, kernels_table,
  @global_count@, globals_table,
};

}  // namespace flotilla::cpu::language
]])

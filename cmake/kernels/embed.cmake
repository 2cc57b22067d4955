# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Writes WORK/NAME.cpp, which contains the bytes of a target's kernels, and the flotilla::image and the
# flotilla_image that describe these bytes.
#
#   cmake -D NAME=<variable> -D TARGET=<target> -D PARTS=<cpu;gpu> -D WORK=<folder>
#         [-D GPU_ONLY=ON] -P embed.cmake
#
# With GPU_ONLY, the image also has the names of its kernels.
#
# The file contains the sizes as numbers. The difference of two symbols is not a constant expression,
# but the image must be initialised before any constructor runs.
cmake_minimum_required(VERSION 3.20)

set(file_cpu cpu.so)
set(file_gpu gpu.fatbin)
set(cpu "nullptr, 0")
set(gpu "nullptr, 0")
set(bytes "")
foreach(part IN LISTS PARTS)
  set(symbol "flotilla_image_${NAME}_${part}")
  set(path "${WORK}/${file_${part}}")
  file(SIZE "${path}" size)
  string(APPEND bytes
    "asm(R\"(\n"
    "  .pushsection .rodata.${symbol}, \"a\"\n"
    "  .balign 64\n"
    "  .hidden ${symbol}\n"
    "  .globl ${symbol}\n"
    "${symbol}:\n"
    "  .incbin \"${path}\"\n"
    "  .popsection\n"
    ")\");\n"
    "extern \"C\" __attribute__((visibility(\"hidden\"))) const unsigned char ${symbol}[];\n\n")
  set(${part} "${symbol}, ${size}")
endforeach()

set(gpu_only nullptr)
if(GPU_ONLY)
  file(STRINGS "${WORK}/gpu_only.txt" names)
  list(TRANSFORM names REPLACE "(.+)" "\"\\1\", ")
  list(JOIN names "" names)
  string(APPEND bytes "static constexpr char const* kernel_names[] = {${names}nullptr};\n\n")
  set(gpu_only kernel_names)
endif()

file(WRITE "${WORK}/${NAME}.cpp"
"// Written by flotilla_add_kernels(${TARGET}).
#include \"${NAME}.hpp\"
#include \"${NAME}.h\"

${bytes}const ${NAME}_image ${NAME} = {{\"${TARGET}\", ${gpu}, ${cpu}, ${gpu_only}}};
const flotilla_image ${NAME}_for_c = {sizeof(flotilla_image), \"${TARGET}\", ${gpu}, ${cpu}, ${gpu_only}};
flotilla_image const* ${NAME}_for_fortran() { return &${NAME}_for_c; }
")

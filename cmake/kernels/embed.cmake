# Writes WORK/NAME.cpp: the bytes of a target's kernels, and the flotilla::image that describes
# them.
#
#   cmake -D NAME=<variable> -D TARGET=<target> -D PARTS=<cpu;gpu> -D WORK=<folder> -P embed.cmake
#
# The sizes are written as numbers, because the difference of two symbols is no constant for a
# compiler, and the image must be initialised before any constructor runs.
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

file(WRITE "${WORK}/${NAME}.cpp"
"// Written by flotilla_add_kernels(${TARGET}).
#include \"${NAME}.hpp\"

${bytes}const flotilla::image ${NAME} = {\"${TARGET}\", ${gpu}, ${cpu}};
")

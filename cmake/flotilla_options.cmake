# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Compiler options for every target of this project. They are not exported to users.

# flotilla_target(TARGET): sets C++20, warnings (as errors if FLOTILLA_WERROR) and hidden symbols.
function(flotilla_target target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow
                         $<$<BOOL:${FLOTILLA_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # -Wrestrict warns of impossible overlaps in std::string's operator+ (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # std::stable_sort of libstdc++ calls a function that libstdc++ itself declares as deprecated, and
    # clang reports that.
    target_compile_options(${target} PRIVATE -Wno-error=deprecated-declarations)
  endif()
  target_compile_definitions(${target} PRIVATE FLOTILLA_BUILD_TYPE="$<CONFIG>")
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
endfunction()

# flotilla_precompile(TARGET header…): except in a debug build, the compiler reads these headers once for
# all files of the target. Reading the headers of other libraries is a third of the time to compile a file
# with -O3, and half of it with a sanitizer. A debug build finds files that lack an include.
function(flotilla_precompile target)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # With -O3 and precompiled headers g++ 12 warns of impossible overflows inside std::string.
    target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-array-bounds)
  endif()
endfunction()

# flotilla_compile_together(TARGET [COUNT]): except in a debug build, the compiler reads COUNT sources
# (default: 25) as one file, so that it reads and instantiates what they share once. That makes a build
# from scratch several times as fast, and a build after a small change slower. A debug build compiles
# every file alone, and so it finds files that lack an include. COUNT is smaller where many sources
# have local names in common.
function(flotilla_compile_together target)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
  endif()
  set(count 25)
  if(ARGC GREATER 1)
    set(count ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  # A local name may equal a name that another source declares in its anonymous namespace.
  target_compile_options(${target} PRIVATE -Wno-shadow)
endfunction()

# Sanitizers apply to the whole build, because a program and its libraries must use the same ones.
if(FLOTILLA_SANITIZE)
  list(JOIN FLOTILLA_SANITIZE "," sanitizers)
  # Undefined behaviour must make a test fail, and not only print a message.
  add_compile_options(-fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${sanitizers})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND "thread" IN_LIST FLOTILLA_SANITIZE)
    # TSan does not model std::atomic_thread_fence, and g++ warns of each one. flotilla uses fences only
    # for flags that decide which thread checks for work again (docs/dispatch/queue.md). Data moves
    # between threads with acquire and release, which TSan models.
    add_compile_options(-Wno-tsan)
  endif()
endif()

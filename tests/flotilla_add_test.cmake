# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
include(GoogleTest)

# flotilla_test_target(TARGET): flotilla_target() for programs and libraries of tests. They are not
# optimized, which saves a third of the time to compile them: they do little work themselves.
function(flotilla_test_target target)
  flotilla_target(${target})
  target_compile_options(${target} PRIVATE -O0)
  flotilla_compile_together(${target})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE" AND TARGET flotilla_exception_order)
    target_link_libraries(${target} PRIVATE flotilla_exception_order)
  endif()
endfunction()

# flotilla_add_test(NAME LABELS label SOURCES file… [KERNELS file.cu…] [LIBRARIES target…]
#                   [ENVIRONMENT name=value…] [WHOLE] [TOGETHER] [TIMEOUT seconds])
#
# Adds a program of GoogleTest cases. Each case becomes a CTest. With WHOLE the program is one
# CTest, for suites with many short cases. TOGETHER is for stress tests that may run beside other tests.
function(flotilla_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "WHOLE;TOGETHER" "TIMEOUT;LABELS" "SOURCES;KERNELS;LIBRARIES;ENVIRONMENT")
  if(NOT arg_LABELS OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "flotilla_add_test(${name}): needs LABELS and SOURCES; ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(FLOTILLA_SANITIZE)
    math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
    # Tests of models try all interleavings in one thread. A sanitizer has little to find there.
    list(FILTER arg_SOURCES EXCLUDE REGEX "_model_test\\.cpp$")
    if(NOT arg_SOURCES)
      return()
    endif()
  endif()
  add_executable(${name} ${arg_SOURCES})
  flotilla_test_target(${name})
  # A program with few files does not make up for the time that its precompiled headers take: the
  # compiler reads 25 files as one.
  list(LENGTH arg_SOURCES count)
  if(count GREATER 50)
    flotilla_precompile(${name} <gmock/gmock.h> <gtest/gtest.h> <boost/circular_buffer.hpp>
      <boost/lockfree/spsc_queue.hpp> <cuda.h>)
  endif()
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE
    flotilla_internals ${arg_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
  if(arg_KERNELS)
    flotilla_add_kernels(${name} ${arg_KERNELS})
  endif()
  set(properties LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT})
  if(arg_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  # Stress tests load the machine, so they run alone: otherwise other tests and they would delay
  # each other.
  if(arg_LABELS MATCHES "stress|gpu" AND NOT arg_TOGETHER)
    list(APPEND properties RUN_SERIAL ON)
  endif()
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    flotilla_whole_test_properties(${name} ${properties})
  else()
    # These cases compare with a model, or interpret kernels, in one thread. They take minutes with a
    # sanitizer, and the interpreter itself checks each access to memory.
    set(left_out "")
    if("thread" IN_LIST FLOTILLA_SANITIZE)
      set(left_out TEST_FILTER "-*Model*:CopyKernels.*:NodePlan.*")
    elseif(FLOTILLA_SANITIZE)
      set(left_out TEST_FILTER "-CopyKernels.*")
    endif()
    # CTest lists the cases when it starts, so that the program need not run during the build.
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}." ${left_out}
      PROPERTIES ${properties})
  endif()
endfunction()

# The CTest counts as skipped only if all its cases were skipped. One failed case fails it.
function(flotilla_whole_test_properties name)
  set_tests_properties(${name} PROPERTIES ${ARGN}
    SKIP_REGULAR_EXPRESSION "\\[  PASSED  \\] 0 tests\\.\n(\\[  SKIPPED \\][^\n]*\n)+$")
endfunction()

# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Fails if HEADER cannot be preprocessed with INCLUDE_DIRS as the only include directories, or if
# the path of an included file outside INCLUDE_DIRS matches FORBIDDEN.
string(REPLACE "|" ";-I" include_flags "-I${INCLUDE_DIRS}")
execute_process(COMMAND "${COMPILER}" -std=c++20 ${include_flags} -x c++ -M "${HEADER}"
                RESULT_VARIABLE status OUTPUT_VARIABLE dependencies ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${HEADER} cannot be preprocessed alone:\n${errors}")
endif()

string(REGEX MATCHALL "/[^ \n\\]+" dependencies "${dependencies}")
# Ignore files below INCLUDE_DIRS: the path of the project itself may match FORBIDDEN.
string(REPLACE "|" ";" own_dirs "${INCLUDE_DIRS}")
set(foreign "")
foreach(file IN LISTS dependencies)
  foreach(dir IN LISTS own_dirs)
    cmake_path(IS_PREFIX dir "${file}" NORMALIZE own)
    if(own)
      break()
    endif()
  endforeach()
  if(NOT own AND file MATCHES "${FORBIDDEN}")
    list(APPEND foreign "${file}")
  endif()
endforeach()
if(foreign)
  list(JOIN foreign "\n  " foreign)
  message(FATAL_ERROR "${HEADER} must not include, also not indirectly:\n  ${foreign}")
endif()

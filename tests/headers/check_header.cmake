# Fails when HEADER does not preprocess with INCLUDE_DIRS alone, or when anything it includes lies in
# a folder or file whose name matches FORBIDDEN.
string(REPLACE "|" ";-I" include_flags "-I${INCLUDE_DIRS}")
execute_process(COMMAND "${COMPILER}" -std=c++20 ${include_flags} -x c++ -M "${HEADER}"
                RESULT_VARIABLE status OUTPUT_VARIABLE dependencies ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${HEADER} does not preprocess alone:\n${errors}")
endif()

string(REGEX MATCHALL "/[^ \n\\]+" dependencies "${dependencies}")
# Where the project itself lies says nothing.
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
  message(FATAL_ERROR "${HEADER} includes\n  ${foreign}")
endif()

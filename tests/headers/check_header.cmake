# Fails if HEADER cannot be preprocessed with only INCLUDE_DIRS, or if the path of any included file
# matches FORBIDDEN.
string(REPLACE "|" ";-I" include_flags "-I${INCLUDE_DIRS}")
execute_process(COMMAND "${COMPILER}" -std=c++20 ${include_flags} -x c++ -M "${HEADER}"
                RESULT_VARIABLE status OUTPUT_VARIABLE dependencies ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${HEADER} does not preprocess alone:\n${errors}")
endif()

string(REGEX MATCHALL "/[^ \n\\]+" dependencies "${dependencies}")
# The path of the project itself may match.
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

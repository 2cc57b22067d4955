# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Finds the MPIs that programs with ranks are built with. Sets flotilla_mpi_families to their names, which
# may be none. For each of them there is the target flotilla_mpi_<family>, to link to, and the variable
# flotilla_mpirun_<family>, the launcher. If the MPI has a module for Fortran, programs in Fortran also link to
# the target flotilla_mpi_<family>_fortran.

set(FLOTILLA_MPI_COMPILERS "" CACHE STRING
    "Compilers (mpicxx) of the MPIs to test with; if empty, CMake searches for those of Debian, then for mpicxx")

# flotilla_mpi_compilers(RESULT): sets RESULT to the compilers of the MPIs.
function(flotilla_mpi_compilers result)
  set(found ${FLOTILLA_MPI_COMPILERS})
  if(NOT found)
    foreach(name mpicxx.openmpi mpicxx.mpich)
      find_program(compiler ${name} NO_CACHE)
      if(compiler)
        list(APPEND found "${compiler}")
      endif()
      unset(compiler)
    endforeach()
  endif()
  if(NOT found)
    find_program(compiler mpicxx NO_CACHE)
    if(compiler)
      set(found "${compiler}")
    endif()
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# flotilla_mpi_target(TARGET SHOWN): adds an interface target with the flags of a compiler of an MPI.
function(flotilla_mpi_target target shown)
  separate_arguments(words UNIX_COMMAND "${shown}")
  list(POP_FRONT words)  # the compiler
  add_library(${target} INTERFACE)
  foreach(word IN LISTS words)
    if(word MATCHES "^-I(.+)")
      target_include_directories(${target} SYSTEM INTERFACE "${CMAKE_MATCH_1}")
    elseif(word MATCHES "^-D(.+)")
      target_compile_definitions(${target} INTERFACE "${CMAKE_MATCH_1}")
    elseif(word MATCHES "^-(L|l|Wl,|pthread)|^/")
      target_link_libraries(${target} INTERFACE "${word}")
    endif()
  endforeach()
endfunction()

# flotilla_find_mpi(COMPILER): adds the target flotilla_mpi_<family>, and the family to
# flotilla_mpi_families. The variable flotilla_mpirun_<family> is its launcher. Not find_package(MPI),
# which finds one MPI only.
function(flotilla_find_mpi compiler)
  find_program(wrapper "${compiler}" NO_CACHE REQUIRED)
  cmake_path(GET wrapper PARENT_PATH folder)
  cmake_path(GET wrapper FILENAME name)
  string(REGEX REPLACE "^mpi[^.]*" "mpirun" name "${name}")  # mpicxx.openmpi: mpirun.openmpi
  set(launcher "${folder}/${name}")
  execute_process(COMMAND "${wrapper}" -show OUTPUT_VARIABLE shown RESULT_VARIABLE failed ERROR_QUIET)
  execute_process(COMMAND "${launcher}" --version OUTPUT_VARIABLE version RESULT_VARIABLE no_launcher ERROR_QUIET)
  if(failed OR no_launcher)
    message(WARNING "no tests with ${wrapper}: it does not understand -show, or there is no ${launcher}")
    return()
  endif()
  set(family mpi)
  if(version MATCHES "Open ?MPI|OpenRTE")
    set(family openmpi)
  elseif(version MATCHES "HYDRA|MPICH")
    set(family mpich)
  endif()
  set(base ${family})
  set(number 1)
  while(family IN_LIST flotilla_mpi_families)
    math(EXPR number "${number} + 1")
    set(family ${base}${number})
  endwhile()

  set(flotilla_mpirun_${family} "${launcher}" PARENT_SCOPE)
  set(flotilla_mpi_families ${flotilla_mpi_families} ${family} PARENT_SCOPE)
  if(TARGET flotilla_mpi_${family})  # another folder includes this file, too
    return()
  endif()
  flotilla_mpi_target(flotilla_mpi_${family} "${shown}")
  string(REGEX REPLACE "/mpi[^/.]*([^/]*)$" "/mpifort\\1" fortran "${wrapper}")
  execute_process(COMMAND "${fortran}" -show OUTPUT_VARIABLE shown RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    flotilla_mpi_target(flotilla_mpi_${family}_fortran "${shown}")
  endif()
  message(STATUS "programs with ranks: ${family} is ${wrapper}")
endfunction()

set(flotilla_mpi_families "")
flotilla_mpi_compilers(compilers)
if(FLOTILLA_SANITIZE)
  set(compilers "")  # a sanitizer sees too little of an MPI that it has not instrumented
endif()
foreach(compiler IN LISTS compilers)
  flotilla_find_mpi("${compiler}")
endforeach()
if(NOT flotilla_mpi_families)
  message(STATUS "programs with ranks: there is no MPI")
endif()

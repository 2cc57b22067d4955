# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Lets a sample run over the ranks of MPI, if CMake finds one. find_package does not work in a function:
# its targets belong to the folder of the sample.
find_package(MPI 3.0 QUIET COMPONENTS CXX)
set(samples_team_dir "${CMAKE_CURRENT_LIST_DIR}")

# add_team(SAMPLE): adds the files of this folder to the program, and runs the sample's test ranks.sh.
function(add_team sample)
  target_sources(${sample} PRIVATE "${samples_team_dir}/run_over_mpi.cpp")
  if(NOT MPI_CXX_FOUND)
    message(STATUS "${sample}: there is no MPI, so it has no --mpi")
    return()
  endif()
  target_compile_definitions(${sample} PRIVATE SAMPLE_WITH_MPI)
  target_link_libraries(${sample} PRIVATE MPI::MPI_CXX)
  # Only in flotilla's build, which has tests/mpi/run_ranks.
  if(NOT PROJECT_IS_TOP_LEVEL AND MPIEXEC_EXECUTABLE)
    add_test(NAME sample.${sample}.ranks
      COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/tests/ranks.sh" $<TARGET_FILE:${sample}> "${MPIEXEC_EXECUTABLE}")
    set_tests_properties(sample.${sample}.ranks PROPERTIES LABELS sample PROCESSORS 2 TIMEOUT 120)
  endif()
endfunction()

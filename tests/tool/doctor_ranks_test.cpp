// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What `flotilla doctor` says of the ranks of a parallel job.
#include "tool/doctor_fixture.hpp"

namespace tool {
namespace {

// requirement: each launcher says which rank this is
TEST_F(Doctor, RanksOfEachLauncher) {
  EXPECT_EQ(find("rank").text, "none");
  variables_ = {{"OMPI_COMM_WORLD_RANK", "3"},
                {"OMPI_COMM_WORLD_SIZE", "4"},
                {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                {"SLURM_PROCID", "0"}};
  expect(find("rank"), grades::ok, "3 of 4, number 1 of 2 on this machine, started by Open MPI",
         "");
  variables_ = {
      {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
  expect(find("rank"), grades::ok, "1 of 2, number 1 of 2 on this machine, started by MPICH", "");
  variables_ = {{"SLURM_PROCID", "5"},
                {"SLURM_STEP_NUM_TASKS", "8"},
                {"SLURM_LOCALID", "1"},
                {"SLURM_TASKS_PER_NODE", "4(x2)"}};
  expect(find("rank"), grades::ok, "5 of 8, number 1 of 4 on this machine, started by Slurm", "");
  // The script of a job of Slurm is no rank, although it may start some.
  variables_ = {{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_TASKS_PER_NODE", "4"}};
  EXPECT_EQ(find("rank").text, "none");
  variables_ = {{"PALS_RANKID", "7"},
                {"PMI_SIZE", "8"},
                {"PALS_LOCAL_RANKID", "3"},
                {"PALS_LOCAL_SIZE", "4"}};
  expect(find("rank"), grades::ok, "7 of 8, number 3 of 4 on this machine, started by PALS", "");
}

// requirement: a launcher that binds ranks to fewer processors than the machine has
TEST_F(Doctor, ProcessorsOfARank) {
  expect(find("processors"), grades::ok, "8 for this process", "");
  processors_ = 1;
  expect(find("processors"), grades::warning, "1 for this process, of 8", "schedule=yield");
  variables_ = {{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  expect(find("processors"), grades::warning, "1 for this process, of 8", "--cpus-per-task=4");
  processors_ = 2;
  expect(find("processors"), grades::note, "2 for this process, of 8", "--bind-to none");
  processors_ = 4;
  expect(find("processors"), grades::ok, "4 for this process, of 8", "");
}

// requirement: ranks that see the same GPUs
TEST_F(Doctor, GpusOfARank) {
  install(4);
  visible_ = 4;
  EXPECT_EQ(find("GPUs of the rank").text, "none");
  variables_ = {{"OMPI_COMM_WORLD_SIZE", "2"},
                {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
  expect(find("GPUs of the rank"), grades::note, "GPU-0, GPU-1, GPU-2, GPU-3",
         "FLOTILLA_DEVICES=cuda:1");
  variables_["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  expect(find("GPUs of the rank"), grades::ok, "GPU-3", "");
}

}  // namespace
}  // namespace tool

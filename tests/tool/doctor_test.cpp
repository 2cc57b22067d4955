// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What `flotilla doctor` says of machines that do not exist.
#include "tool/doctor_fixture.hpp"

namespace tool {
namespace {

// requirement: without a driver there is nothing to say about it
TEST_F(Doctor, AMachineWithoutADriver) {
  for (char const* const about : {"kernel module", "persistence", "MPS", "hidden GPUs"}) {
    EXPECT_EQ(find(about).text, "none") << about;
  }
}

// requirement
TEST_F(Doctor, AnOldDriver) {
  install(1, "535.104.05");
  expect(find("kernel module"), grades::broken, "535.104.05", "install branch 550 or later");
  install(1, "550.54.14");
  expect(find("kernel module"), grades::ok, "550.54.14", "");
  write("proc/driver/nvidia/version", "something else");
  expect(find("kernel module"), grades::ok, "something else", "");
}

// requirement
TEST_F(Doctor, Persistence) {
  install(1);
  expect(find("persistence"), grades::note, "does not run", "nvidia-smi -pm 1");
  write("run/nvidia-persistenced/socket", "");
  expect(find("persistence"), grades::ok, "runs", "");
}

// requirement
TEST_F(Doctor, MpsThatRuns) {
  install(1);
  visible_ = 1;
  expect(find("MPS"), grades::ok, "does not run", "");
  write("tmp/nvidia-mps/control", "");
  expect(find("MPS"), grades::note, "/tmp/nvidia-mps", "a fault in a kernel of one process");
  variables_["CUDA_MPS_PIPE_DIRECTORY"] = "/other";
  expect(find("MPS"), grades::ok, "does not run", "");
  write("other/control", "");
  variables_["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = "25";
  expect(find("MPS"), grades::note, "gets 25 % of the multiprocessors", "nvidia-cuda-mps-control");
}

// requirement: several ranks on a GPU need MPS
TEST_F(Doctor, RanksThatShareGpus) {
  install(2);
  visible_ = 2;
  variables_["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  expect(find("MPS"), grades::ok, "does not run", "");
  variables_["OMPI_COMM_WORLD_LOCAL_SIZE"] = "8";
  expect(find("MPS"), grades::warning, "8 ranks share 2 GPUs", "nvidia-cuda-mps-control -d");
  variables_.clear();
  variables_["SLURM_TASKS_PER_NODE"] = "4(x3)";
  expect(find("MPS"), grades::warning, "4 ranks share 2 GPUs", "nvidia-cuda-mps-control -d");
}

// requirement: a cgroup with one GPU for each rank
TEST_F(Doctor, GpusThatACgroupHides) {
  install(4);
  visible_ = 4;
  EXPECT_EQ(find("hidden GPUs").text, "none");
  visible_ = 1;
  expect(find("hidden GPUs"), grades::note, "1 of the machine's 4 GPUs", "--gpus all");
  variables_["SLURM_TASKS_PER_NODE"] = "4";
  expect(find("hidden GPUs"), grades::warning, "one for each of 4 ranks", "--gpus-per-node=4");
  variables_["CUDA_VISIBLE_DEVICES"] = "2";
  expect(find("hidden GPUs"), grades::note, "CUDA_VISIBLE_DEVICES is 2", "remove the variable");
}

// requirement: Slurm's option also sets CUDA_VISIBLE_DEVICES, which nobody can just remove
TEST_F(Doctor, GpusThatSlurmDealsOut) {
  install(4);
  visible_ = 1;
  variables_["SLURM_TASKS_PER_NODE"] = "4";
  variables_["SLURM_GPUS_PER_TASK"] = "1";
  variables_["CUDA_VISIBLE_DEVICES"] = "0";
  expect(find("hidden GPUs"), grades::warning, "--gpus-per-task hides the others",
         "--ntasks-per-node=1 --gpus-per-node=4");
}

// requirement
TEST_F(Doctor, NumaBalancing) {
  write("proc/sys/kernel/numa_balancing", "1\n");
  EXPECT_EQ(find("NUMA balancing").text, "none");  // there is only one node
  write("sys/devices/system/node/node1/cpulist", "8-15");
  expect(find("NUMA balancing"), grades::note, "on", "kernel.numa_balancing=0");
  write("proc/sys/kernel/numa_balancing", "0\n");
  expect(find("NUMA balancing"), grades::ok, "off", "");
}

// requirement: two programs on one GPU take turns
TEST_F(Doctor, OtherProcessesOnGpus) {
  EXPECT_EQ(find("other processes").text, "none") << "CPU devices";
  install(2);
  visible_ = 2;
  start(4000, "doctor", {"/dev/nvidia-uvm", "/dev/nvidia0"});  // this process
  start(17, "Xorg", {"/dev/nvidia0", "/dev/nvidiactl"});       // graphics
  start(18, "nvidia-smi", {"/dev/nvidiactl", "/dev/nvidia-uvm"});
  write("proc/self/comm", "doctor");
  expect(find("other processes"), grades::ok, "none has opened a GPU", "");
  start(4242, "a train", {"/dev/null", "/dev/nvidia-uvm", "/dev/nvidia1", "/dev/nvidia1"});
  finding const found = find("other processes");
  expect(found, grades::note, "a train (4242) on GPU 1", "nvidia-cuda-mps-control");
  EXPECT_EQ(found.text, "a train (4242) on GPU 1");
}

// boundary: many processes, and processes of other users
TEST_F(Doctor, ManyOtherProcessesOnGpus) {
  install(1);
  for (int id = 5000; id < 5008; ++id) { start(id, "rank", {"/dev/nvidia-uvm", "/dev/nvidia0"}); }
  expect(find("other processes"), grades::note, ", and 3 more", "FLOTILLA_DEVICES");
  write("proc/6000/comm", "of somebody else");  // its folder fd cannot be read
  expect(find("other processes"), grades::note, "processes of other users cannot be seen", "");
}

// requirement
TEST_F(Doctor, Limits) {
  char const* const names[] = {"open files", "processes and threads", "locked memory",
                               "address space", "stack of a thread"};
  for (char const* const each : names) { expect(find(each), grades::ok, "no limit", ""); }
  limits_[RLIMIT_NOFILE] = 16;
  expect(find("open files"), grades::warning, "at most 16", "ulimit -n");
  limits_[RLIMIT_NOFILE] = 1024;
  expect(find("open files"), grades::ok, "at most 1024", "");
  limits_[RLIMIT_NPROC] = 100;
  expect(find("processes and threads"), grades::note, "at most 100", "ulimit -u");
  limits_[RLIMIT_MEMLOCK] = 64 << 10;
  expect(find("locked memory"), grades::note, "at most 64 KiB", "ulimit -l");
  limits_[RLIMIT_STACK] = 256 << 10;
  expect(find("stack of a thread"), grades::note, "at most 256 KiB", "ulimit -s");
  limits_[RLIMIT_STACK] = 8 << 20;
  expect(find("stack of a thread"), grades::ok, "at most 8192 KiB", "");
}

// requirement: a GPU driver needs more addresses than there is memory
TEST_F(Doctor, ALimitOfTheAddressSpace) {
  limits_[RLIMIT_AS] = std::uint64_t{4} << 30;
  expect(find("address space"), grades::ok, "at most 4096 MiB", "");
  visible_ = 1;
  expect(find("address space"), grades::warning, "at most 4096 MiB", "ulimit -v unlimited");
  visible_ = 0;
  limits_[RLIMIT_AS] = std::uint64_t{512} << 20;
  expect(find("address space"), grades::note, "at most 512 MiB", "ulimit -v");
}

// requirement
TEST_F(Doctor, SharedMemory) {
  expect(find("/dev/shm"), grades::note, "does not exist", "--shm-size");
  set_room(60, 64);
  expect(find("/dev/shm"), grades::note, "60 MiB free of 64 MiB", "--shm-size");
  set_room(12'000, 12'040);
  expect(find("/dev/shm"), grades::ok, "12000 MiB free", "");
}

// requirement
TEST_F(Doctor, MemoryFilesThatCannotBeExecuted) {
  EXPECT_EQ(find("memory files").text, "none");
  write("proc/sys/vm/memfd_noexec", "1\n");
  expect(find("memory files"), grades::ok, "vm.memfd_noexec is 1", "");
  write("proc/sys/vm/memfd_noexec", "2\n");
  expect(find("memory files"), grades::warning, "are refused", "sysctl vm.memfd_noexec=1");
}

// error guess: values that are no numbers
TEST_F(Doctor, WrongVariables) {
  install(1);
  visible_ = 1;
  variables_["SLURM_TASKS_PER_NODE"] = "many";
  variables_["OMPI_COMM_WORLD_LOCAL_SIZE"] = "-3";
  expect(find("MPS"), grades::ok, "does not run", "");
}

}  // namespace
}  // namespace tool

#!/bin/sh
# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# srun of Slurm 22.05.8 with MPICH 4.0.2 (both of Debian 12), and two tasks. Needs the rights of root, because
# the script starts a Slurm of its own.
#
# Guess:  srun --mpi=pmix, which Open MPI needs, also serves MPICH, or one of them says that it does not.
# Seen:   two programs of "rank 0 of 1", without a message, and srun returns 0. With --mpi=pmi2, they are two
#         ranks of one program.
. "$(dirname "$0")/lib.sh"
unpack_debian slurmctld=22.05.8-4+deb12u3 slurmd=22.05.8-4+deb12u3 slurm-client=22.05.8-4+deb12u3 \
  slurm-wlm-basic-plugins=22.05.8-4+deb12u3 libslurm38=22.05.8-4+deb12u3 libpmix2=4.2.2-1+deb12u1 \
  libpmi2-0=22.05.8-4+deb12u3 libmpich12=4.0.2-3+b1 libhwloc15=2.9.0-1 libucx0=1.13.1-1 libmunge2=0.5.15-2+deb12u1 \
  libevent-core-2.1-7=2.1.12-stable-8+deb12u1 libevent-pthreads-2.1-7=2.1.12-stable-8+deb12u1
libraries=$work/root/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH="$libraries:$libraries/slurm-wlm" SLURM_CONF="$work/slurm.conf"
PATH=$work/root/usr/sbin:$work/root/usr/bin:$PATH
host=$(hostname -s)
cat > slurm.conf <<END
ClusterName=finding
SlurmctldHost=localhost
SlurmctldPort=16917
SlurmdPort=16918
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
PluginDir=$libraries/slurm-wlm
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
NodeName=$host NodeAddr=127.0.0.1 CPUs=2
PartitionName=all Nodes=ALL Default=YES State=UP
END
mkdir state spool
slurmctld-wlm -D -i > control.log 2>&1 & control=$!
slurmd-wlm -D -N "$host" -d "$work/root/usr/sbin/slurmstepd-wlm" > node.log 2>&1 & node=$!
trap 'kill $control $node; wait; rm -rf "$work"' EXIT
for _ in $(seq 100); do
  [ "$(sinfo --noheader --format=%t 2>/dev/null)" = idle ] && break
  sleep 0.1
done
cat > ranks.py <<'CODE'
import ctypes
mpi, world, number = ctypes.CDLL("libmpich.so.12"), 0x44000000, ctypes.c_int()  # MPI_COMM_WORLD
mpi.MPI_Init(None, None)
mpi.MPI_Comm_size(world, ctypes.byref(number))
print(number.value)
mpi.MPI_Finalize()
CODE
# ranks INTERFACE: the numbers of ranks that two tasks see, and the status of srun
ranks() {
  seen=$(srun --mpi="$1" -n 2 python3 ranks.py 2>&1) && status=0 || status=$?
  echo $seen, status $status
}
expect "srun --mpi=pmi2 -n 2" "$(ranks pmi2)" "2 2, status 0"
expect "srun --mpi=pmix -n 2" "$(ranks pmix)" "1 1, status 0"

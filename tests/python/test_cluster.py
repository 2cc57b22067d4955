# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Clusters, with each MPI of the machine. The programs in the folder `ranks` run as several ranks."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import FOLDER, run_child

import flotilla as fl

RUN_RANKS = FOLDER.parent / "mpi" / "run_ranks"
FAMILIES = [each for each in ("openmpi", "mpich") if shutil.which(f"mpirun.{each}")]
ENDS = [
    "exception", "exception_of_runtime", "fail", "task", "left_early", "open_cluster", "interruptions",
]  # fmt: skip


class Mpi:
    """How to run programs with an MPI."""

    def __init__(self, family, image_file, folder):
        self.family = family
        self.cache = folder / "cache"
        self.environment = {
            "FLOTILLA_TEST_KERNELS": str(image_file),
            "FLOTILLA_DEVICES": "cpu:1",
            "XDG_CACHE_HOME": str(self.cache),
            "PYTHONUNBUFFERED": "",  # otherwise, print writes the end of a line separately
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }
        if family == "mpich":  # mpi4py looks for the name that MPICH gives it, which Debian changes
            library = next(pathlib.Path("/usr/lib").glob("*/libmpich.so.12"))
            (folder / "libmpi.so.12").symlink_to(library)
            self.environment["LD_LIBRARY_PATH"] = str(folder)
            self.environment["MPI4PY_LIBMPI"] = "libmpi.so.12"

    def call(self, *command, **variables):
        environment = {**os.environ, **self.environment, **variables}
        return subprocess.run(
            [str(each) for each in command], env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200, check=False,
        )  # fmt: skip

    def run(self, ranks, program, *arguments, options=(), **variables):
        """Runs a program with ranks, each of which must print that it is done."""
        program = FOLDER / "ranks" / program
        done = self.call(RUN_RANKS, *options, f"mpirun.{self.family}", ranks, sys.executable, program,
                         *arguments, **variables)  # fmt: skip
        assert done.returncode == 0, done.stdout

    def alone(self, code, **variables):
        """Runs a program without a launcher. Returns what it prints."""
        code = f"import flotilla as fl\nfrom mpi4py import MPI\n{code}"
        done = self.call(sys.executable, "-c", code, **variables)
        assert done.returncode == 0, done.stdout
        return done.stdout


@pytest.fixture(scope="module", params=FAMILIES)
def mpi(request, image_file, tmp_path_factory):
    return Mpi(request.param, image_file, tmp_path_factory.mktemp(request.param))


# requirement: the results over ranks are those of one process
@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_compute_what_one_process_computes(mpi, ranks):
    mpi.run(ranks, "work.py")


# requirement
def test_sample_runs_over_ranks(mpi):
    mpi.run(2, FOLDER.parents[1] / "samples" / "ranks_python" / "main.py")


# requirement
def test_a_program_without_a_launcher_is_one_rank(mpi):
    done = mpi.call(sys.executable, FOLDER / "ranks" / "work.py")
    assert done.returncode == 0 and "rank 0 done" in done.stdout, done.stdout


# requirement: what the function of the program is named for
@pytest.mark.parametrize("case", ENDS)
def test_end(mpi, case):
    mpi.run(2, "ends.py", case)


# requirement: rank 0 ends although rank 1 waits for it
def test_exception_that_ends_the_program_reaches_other_ranks(mpi):
    mpi.run(2, "ends.py", "exception_at_exit")


# requirement: after Ctrl-C, a program with an open cluster ends
def test_end_of_program_after_interruption_does_not_wait_for_ranks(mpi):
    mpi.run(2, "ends.py", "interruption_at_exit", options=["--only", "0", "--timeout", "30"])


ONE_RANK = """
with fl.Runtime() as rt, fl.Cluster(rt, MPI.COMM_SELF) as ranks:
    flow = fl.Flow(ranks)
    x = flow.empty(3)
    flow.post_host(lambda to: to.fill(2), fl.write(x))
    print(x.get().sum())
"""


def library_in(folder):
    return next((folder / "flotilla").glob("mpi-*.so"))


# requirement: the connection is compiled once; a damaged one is compiled again
def test_connection_is_kept_in_cache(mpi, tmp_path):
    assert mpi.alone(ONE_RANK, XDG_CACHE_HOME=tmp_path) == "6.0\n"
    library = library_in(tmp_path)
    assert [each.name for each in library.parent.iterdir()] == [library.name]
    assert library.parent.stat().st_mode & 0o777 == 0o700
    made = library.stat()
    nothing = {"XDG_CACHE_HOME": tmp_path, "MPICXX": "/bin/false"}
    assert mpi.alone(ONE_RANK, **nothing) == "6.0\n"  # needs no compiler
    library.write_bytes(library.read_bytes()[:1000])
    assert mpi.alone(ONE_RANK, XDG_CACHE_HOME=tmp_path) == "6.0\n"
    assert library.stat().st_size == made.st_size


# requirement: nothing is loaded from a folder that others can write
def test_unsafe_cache_is_not_used(mpi, tmp_path):
    folder = tmp_path / "flotilla"
    folder.mkdir()
    folder.chmod(0o777)
    assert mpi.alone(ONE_RANK, XDG_CACHE_HOME=tmp_path) == "6.0\n"
    assert list(folder.iterdir()) == []


REFUSED = """
with fl.Runtime() as rt:
    try:
        fl.Cluster(rt, {communicator})
    except fl.{error} as error:
        print(error)
"""


def refusal(mpi, communicator="MPI.COMM_WORLD", error="NoCompiler", before="", **variables):
    code = before + REFUSED.format(communicator=communicator, error=error)
    return mpi.alone(code, **variables)


# requirement: the launcher of another MPI starts several programs of one rank
@pytest.mark.skipif(len(FAMILIES) < 2, reason="needs two MPIs")
def test_launcher_of_another_mpi_is_named(mpi):
    other = "mpich" if mpi.family == "openmpi" else "openmpi"
    program = FOLDER / "ranks" / "work.py"
    said = mpi.call(f"mpirun.{other}", "-n", "2", sys.executable, program).stdout
    assert re.search("InvalidArgument: a launcher has started 2 processes", said), said


# requirement: a library for another MPI is not used
@pytest.mark.skipif(len(FAMILIES) < 2, reason="needs two MPIs")
def test_wrapper_of_another_mpi_is_refused(mpi, tmp_path):
    other = "mpich" if mpi.family == "openmpi" else "openmpi"
    said = refusal(mpi, XDG_CACHE_HOME=tmp_path, MPICXX=f"mpicxx.{other}")
    names = {"openmpi": "Open MPI v", "mpich": "MPICH Version: "}
    expected = f"it belongs to {names[other]}.*, but mpi4py uses {names[mpi.family]}"
    assert re.search(expected, said), said
    assert list((tmp_path / "flotilla").iterdir()) == []


# requirement: the message has what the compiler says, or that there is none
def test_wrapper_that_does_not_compile_is_named(mpi, tmp_path):
    said = refusal(mpi, XDG_CACHE_HOME=tmp_path, MPICXX="g++ -include no_such_header.hpp")
    assert "Set the environment variable MPICXX" in said and "no_such_header.hpp" in said
    said = refusal(mpi, XDG_CACHE_HOME=tmp_path, MPICXX="/no/such/wrapper")
    assert "/no/such/wrapper" in said and "No such file" in said


# requirement: a failure on one rank is an exception on all ranks
@pytest.mark.parametrize("case", ["no_connection", "interrupted_connection"])
def test_failure_to_connect_is_an_exception_on_all_ranks(mpi, case, tmp_path):
    mpi.run(2, "ends.py", case, XDG_CACHE_HOME=tmp_path)


# error guess
@pytest.mark.parametrize(
    ("communicator", "before", "text"),
    [
        ("None", "", "a communicator of the package mpi4py, such as MPI.COMM_WORLD, but got a NoneType"),
        ("MPI.COMM_NULL", "", "intra-communicator"),
        ("MPI.COMM_WORLD", "MPI.Finalize()\n", "finalized already"),
    ],
)
def test_unsuitable_communicators_are_refused(mpi, communicator, before, text):
    assert text in refusal(mpi, communicator, "InvalidArgument", before)


# error guess
def test_thread_level_that_does_not_suffice_is_refused(mpi):
    code = "import mpi4py\nmpi4py.rc(thread_level='single')\nimport flotilla as fl\n"
    code += "from mpi4py import MPI\n" + REFUSED.format(communicator="MPI.COMM_WORLD", error="Error")
    done = mpi.call(sys.executable, "-c", code)
    assert "MPI_THREAD_SINGLE" in done.stdout, done.stdout


# requirement: a program without mpi4py gets a clear error, and flotilla does not import it
def test_without_mpi4py():
    said = run_child(
        "import sys; sys.modules['mpi4py'] = None\n"
        "import flotilla as fl\n" + REFUSED.format(communicator="0", error="InvalidArgument")
    )
    assert "a communicator of the package mpi4py" in said


# error guess
def test_flow_without_cluster_has_rank_0(rt):
    flow = fl.Flow(rt)
    x = flow.empty(4)
    assert x.owner == 0
    flow.post_host(lambda to: to.fill(1), fl.write(x), rank=0)
    x.set_owner(0)
    x.collect()
    with pytest.raises(fl.InvalidArgument, match="rank is 1"):
        flow.post_host(lambda to: None, fl.write(x), rank=1)
    with pytest.raises(fl.InvalidArgument, match="rank 1 cannot own"):
        x.set_owner(1)
    with x.tiles(2, owners=[0, 0]) as tiles:
        assert [each.owner for each in tiles] == [0, 0]

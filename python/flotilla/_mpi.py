# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Connects clusters with the MPI of mpi4py.

The package contains no MPI. The first cluster compiles a small library with the compiler wrapper of
the MPI that mpi4py uses, and keeps it in a cache on disk.
"""

import ctypes
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

from ._core import InvalidArgument, NoCompiler, _share_devices, devices

_SOURCES = pathlib.Path(__file__).parent / "mpi"
_FLAGS = [
    "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-DFLOTILLA_STATIC",
    # Otherwise the library also needs the MPI's bindings for C++, which mpi4py has not loaded.
    "-Wl,--as-needed",
]  # fmt: skip


def connect(communicator):
    """Returns the address of flotilla_python_mpi, and the communicator's number in Fortran.

    Collective: if it fails on one rank, it raises on all of them.
    """
    mpi = _mpi_of(communicator)
    machine = communicator.Split_type(mpi.COMM_TYPE_SHARED)
    function = problem = None
    for is_mine in (machine.rank == 0, machine.rank != 0):  # the first rank compiles for the others
        if is_mine:
            try:
                function = _function(mpi)
            except BaseException as error:  # also Ctrl-C: the other ranks must learn it
                problem = error
        if machine.bcast(problem is not None):
            break
    machine.Free()
    said = None if problem is None else f"{type(problem).__name__}: {problem}"
    all_said = communicator.allgather(said)
    if isinstance(problem, KeyboardInterrupt):
        raise problem
    for rank, text in enumerate(all_said):
        if text is not None:
            raise NoCompiler(f"rank {rank} cannot connect flotilla with its MPI: {text}")
    return function, communicator.py2f()


def share_devices(communicator: object) -> str:
    """Divides the GPUs of each machine among the ranks that run there.

    All ranks of the communicator call it, before they make their runtimes. Returns the argument
    `devices` of Runtime; "" if this rank sees no GPU, or if FLOTILLA_DEVICES is set for it.
    """
    mpi = _mpi_of(communicator)
    is_chosen = bool(os.environ.get("FLOTILLA_DEVICES"))
    seen, problem = [], None
    try:
        if not is_chosen:
            seen = [each.uuid for each in devices() if each.kind == "gpu"]
    except Exception as error:  # after the collective calls
        problem = error
    machine = communicator.Split_type(mpi.COMM_TYPE_SHARED)
    all_seen, local_rank = machine.allgather(seen), machine.rank
    machine.Free()
    if problem is not None:
        raise problem
    shared = _share_devices(all_seen, local_rank)
    return "" if is_chosen else shared


def _mpi_of(communicator):
    """Returns the module mpi4py.MPI. It is imported already if the communicator is one of it."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not isinstance(communicator, mpi.Comm):
        raise InvalidArgument(
            "a cluster needs a communicator of the package mpi4py, such as MPI.COMM_WORLD, but got a "
            + type(communicator).__name__
        )
    if not mpi.Is_initialized() or mpi.Is_finalized():
        raise InvalidArgument(
            "a cluster needs MPI, which is not initialized or is finalized already. A cluster must "
            "end before MPI.Finalize"
        )
    if communicator == mpi.COMM_NULL or not isinstance(communicator, mpi.Intracomm):
        raise InvalidArgument(
            "a cluster needs an intra-communicator such as MPI.COMM_WORLD, but got MPI.COMM_NULL or "
            "an inter-communicator, of which Intercomm.Merge makes one"
        )
    return mpi


def _function(mpi):
    """Returns the address of flotilla_python_mpi in a library for the MPI of mpi4py."""
    name = f"mpi-{_key(mpi)}.so"
    folder = _cache_folder()
    if folder is not None and _is_complete(folder / name):
        try:
            return _load(folder / name, mpi)
        except (OSError, _WrongMpi):  # compile it again
            pass
    with tempfile.TemporaryDirectory(prefix="mpi-", dir=folder) as work:
        made = pathlib.Path(work) / name
        function = _compile(made, mpi)
        if folder is not None:
            with made.open("ab") as end:
                end.write(_checksum(made.read_bytes()))
            os.replace(made, folder / name)
    return function


def _checksum(data):
    return hashlib.sha256(data).digest()


def _is_complete(file):
    """Whether a file ends with its checksum: to load a part of a library can end the process."""
    try:
        data = file.read_bytes()
    except OSError:
        return False
    return data[-32:] == _checksum(data[:-32])


def _key(mpi):
    """What the library depends on: the version of the MPI, and the sources."""
    key = hashlib.sha256(mpi.Get_library_version().encode())
    for file in sorted(_SOURCES.rglob("*.?pp")):
        key.update(file.read_bytes())
    return key.hexdigest()[:32]


def _cache_folder():
    """Returns the folder that rt.compile uses too, or None if nobody else must be able to write it."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path("~/.cache").expanduser()
    folder = pathlib.Path(base) / "flotilla"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return None
    is_safe = status.st_uid == os.geteuid() and status.st_mode & 0o077 == 0
    return folder if is_safe and os.access(folder, os.W_OK) else None


class _WrongMpi(Exception):
    """A library belongs to another MPI than mpi4py."""


def _load(file, mpi):
    made = ctypes.CDLL(str(file))
    if _address(made.MPI_Init) != _address(ctypes.CDLL(mpi.__file__).MPI_Init):
        raise _WrongMpi(f"it belongs to {_version(made)}, but mpi4py uses {_version(mpi)}")
    return _address(made.flotilla_python_mpi)


def _address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def _version(of):
    """Returns the name and version of the MPI of a loaded library, or of mpi4py."""
    if isinstance(of, ctypes.CDLL):
        text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
        of.MPI_Get_library_version(text, ctypes.byref(length))
        version = text.value.decode(errors="replace")
    else:
        version = of.Get_library_version()
    return " ".join(version.split("\n")[0].split(",")[0].split())


def _compile(made, mpi):
    """Compiles the library with the first wrapper that belongs to the MPI of mpi4py, and loads it."""
    problems = []
    for wrapper in _wrappers(mpi):
        source = _SOURCES / "flotilla_python.cpp"
        command = [*wrapper, *_FLAGS, f"-I{_SOURCES / 'include'}", str(source), "-o", str(made)]
        try:
            subprocess.run(command, capture_output=True, text=True, check=True)
            return _load(made, mpi)
        except subprocess.CalledProcessError as error:
            problems.append(f"{shlex.join(wrapper)} fails:\n{error.stderr or error.stdout}")
        except (OSError, _WrongMpi) as error:
            problems.append(f"{shlex.join(wrapper)}: {error}")
    raise NoCompiler(
        f"no compiler wrapper of {_version(mpi)} was found. Set the environment variable MPICXX to "
        "its mpicxx, which must be able to compile C++20. " + "; ".join(problems)
    )


def _wrappers(mpi):
    """Returns the commands that may be the wrapper of the MPI for C++, the most likely one first."""
    if os.environ.get("MPICXX"):
        return [shlex.split(os.environ["MPICXX"])]
    library = _file_at(_address(ctypes.CDLL(mpi.__file__).MPI_Init))
    family = mpi.get_vendor()[0].replace(" ", "").lower()
    places = [
        sys.modules["mpi4py"].get_config().get("mpicxx", ""),
        *(str(folder / "bin" / "mpicxx") for folder in library.parents[1:3]),
        "mpicxx",
    ]
    names = [name for place in places if place for name in (f"{place}.{family}", place)]
    found = {shutil.which(name): None for name in names}  # in this order, each once
    return [[path] for path in found if path is not None]


def _file_at(address):
    """Returns the file that is mapped at an address of this process."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        begin, end = (int(number, 16) for number in fields[0].split("-"))
        if begin <= address < end and len(fields) == 6:
            return pathlib.Path(fields[5])
    return pathlib.Path(sys.executable)

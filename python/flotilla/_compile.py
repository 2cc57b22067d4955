# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels for CPU devices, as flotilla_add_kernels does in CMake projects."""

from __future__ import annotations

import os

from ._core import BadImage, Error

# The modules that only compile_cpu needs are imported when it is called, because they would make
# `import flotilla` several times as slow.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable, Sequence

# As in flotilla_add_kernels.cmake, which explains them.
_FLAGS = [
    "-std=c++20", "-fPIC", "-fvisibility=hidden", "-U_FORTIFY_SOURCE", "-O3", "-fno-lto",
    "-fno-exceptions", "-fno-rtti", "-fno-math-errno", "-fno-strict-aliasing",
    "-fno-builtin-printf", "-fno-builtin-malloc", "-fno-builtin-free",
]
_GNU_FLAGS = ["-fno-gnu-unique", "-fcheck-new"]


def compile_cpu(
    *sources: str | os.PathLike[str], flags: Iterable[str] = (), compiler: str | None = None
) -> bytes:
    """Compiles kernel sources, and returns an image for CPU devices as bytes.

    sources   Paths of .cu files, or texts of sources. A text has a line break.
    flags     More flags for the compiler, such as "-I<folder>" or "-DNAME=VALUE".
    compiler  The C++ compiler: g++ 12 or clang 16, or later. The default is the environment
              variable CXX, or else c++.

    The call needs the compiler and cmake. It raises BadImage if the sources do not compile. The
    message has the output of the compiler.
    """
    import pathlib
    import shlex
    import shutil
    import tempfile

    if not sources:
        raise BadImage("compile_cpu needs at least one source")
    compile_with = shlex.split(compiler or os.environ.get("CXX") or "c++")
    for program in (compile_with[0], "cmake"):
        if shutil.which(program) is None:
            raise Error(f"compile_cpu needs the program {program}, which is not on the path")
    with tempfile.TemporaryDirectory(prefix="flotilla-") as folder:
        work = pathlib.Path(folder)
        return _compile(work, _files(sources, work), compile_with, list(flags))


def _files(sources: Iterable[str | os.PathLike[str]], work: pathlib.Path) -> list[pathlib.Path]:
    """Returns the paths of the sources. Writes texts to files."""
    files = []
    for index, source in enumerate(sources):
        if isinstance(source, str) and "\n" in source:
            path = work / f"source{index}.cu"
            path.write_text(source)
        else:
            path = type(work)(source).resolve()
            if not path.is_file():
                raise BadImage(f"there is no file {path}")
        files.append(path)
    return files


def _compile(
    work: pathlib.Path, files: Sequence[pathlib.Path], compiler: list[str], user_flags: list[str]
) -> bytes:
    kernels = type(work)(__file__).parent / "kernels"
    is_gnu = "Free Software Foundation" in _run([*compiler, "--version"])
    flags = _FLAGS + (_GNU_FLAGS if is_gnu else []) + [f"-I{kernels / 'include'}"] + user_flags
    includes = "".join(f'#include "{file}"\n' for file in files)
    (work / "all.cu").write_text(includes)
    (work / "sources.txt").write_text("".join(f"{file}\n" for file in files))
    scripts = kernels / "scripts"
    _run([*compiler, *flags, "-DFLOTILLA_KERNEL_SCAN", "-E", "-x", "c++", work / "all.cu",
          "-o", work / "all.ii"])
    _run(["cmake", "-D", f"PREPROCESSED={work / 'all.ii'}", "-D", f"OUTPUT={work / 'cpu.cpp'}",
          "-D", f"SOURCES={work / 'sources.txt'}", "-P", scripts / "scan_kernels.cmake"])
    _run([*compiler, *flags, "-include", "flotilla/kernel_language.hpp", "-shared",
          "-Wl,--as-needed", f"-Wl,--version-script={scripts / 'cpu_image.map'}",
          "-x", "c++", work / "cpu.cpp", "-o", work / "cpu.so"])
    return (work / "cpu.so").read_bytes()


def _run(command: Sequence[str | os.PathLike[str]]) -> str:
    import subprocess

    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BadImage(f"the kernels do not compile:\n{done.stderr or done.stdout}")
    return done.stdout

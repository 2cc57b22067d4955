# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0
"""A recipe for Spack. It was never built: see packaging/README.md."""

from spack.package import *


class Flotilla(CMakePackage, CudaPackage):
    """Dispatches work to every GPU of a machine from any number of host threads."""

    git = "<the address of the repository>"
    license("Apache-2.0")

    version("main", branch="main")

    variant("cuda", default=True, description="Compile kernels for GPUs")
    variant("tools", default=True, description="Build the programs flotilla and flotilla_bench")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("cuda@13:", type=("build", "link"))  # its headers, also without kernels for GPUs
    depends_on("intel-oneapi-tbb@2021.8:", type=("build", "link", "run"))
    depends_on("boost@1.74:+context", type=("build", "link", "run"))
    depends_on("tomlplusplus", type="build")
    depends_on("protozero", type="build")
    depends_on("cli11", type="build", when="+tools")
    depends_on("nlohmann-json", type="build", when="+tools")
    depends_on("benchmark", type=("build", "link"), when="+tools")

    requires("%gcc@12:", "%clang@16:", policy="one_of")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define_from_variant("FLOTILLA_GPU_KERNELS", "cuda"),
            self.define_from_variant("FLOTILLA_BUILD_TOOLS", "tools"),
            self.define_from_variant("FLOTILLA_BUILD_BENCHES", "tools"),
            self.define("FLOTILLA_BUILD_TESTS", False),
            self.define("FLOTILLA_BUILD_SAMPLES", False),
            self.define("FLOTILLA_CUDA", self.spec["cuda"].prefix),
        ] + (
            [self.define("FLOTILLA_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value)]
            if self.spec.satisfies("+cuda") and "none" not in self.spec.variants["cuda_arch"].value
            else []
        )

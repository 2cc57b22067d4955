// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Compiles kernels while the program runs: docs/compile.md.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/detail/export.hpp>
#include <flotilla/error/compile_error.hpp>
#include <flotilla/kernel/program.hpp>
#include <flotilla/runtime.hpp>

namespace flotilla {
inline namespace v0_1 {

/// How `compile` compiles a source. The source is the same for GPUs and for CPU devices; options
/// that only one compiler has apply only to that compiler.
struct compile_options {
  /// The name of the source in errors and debuggers. It need not be the name of a file.
  std::string name = "kernels.cu";
  /// Macros: "NAME" or "NAME=VALUE".
  std::vector<std::string> defines{};
  /// Folders in which `#include` searches, in this order.
  std::vector<std::filesystem::path> include_directories{};
  /// Instances of kernel templates, and kernels that are not extern "C": "scale<float>",
  /// "mine::step". Each becomes a kernel of the program with this text as its name, character by
  /// character: `program.kernel<float*, float, int>("scale<float>")`.
  std::vector<std::string> name_expressions{};
  /// The C++ standard for GPUs: 17 or 20. For CPU devices it is always 20.
  int standard = 20;
  /// Less precise, faster arithmetic: --use_fast_math of NVRTC; for CPU devices, the compiler may
  /// reorder and contract operations. Infinities and NaNs remain.
  bool fast_math = false;
  /// If false, the kernels get no twins for GPUs (docs/kernels.md#twins).
  bool fused = true;
  /// More options for NVRTC, such as "--maxrregcount=64". Options that another member sets, and
  /// options that name files, are refused.
  std::vector<std::string> gpu_options{};
  /// The same for the host compiler, such as "-march=native".
  std::vector<std::string> cpu_options{};
  /// The C++ compiler for CPU devices: an absolute path to g++ 12 or clang 16, or later. If empty,
  /// flotilla takes the first that exists: the environment variable FLOTILLA_CXX, the compiler that
  /// built flotilla, and c++, clang++ and g++ in /usr/local/bin, /usr/bin and /bin.
  std::filesystem::path cpu_compiler{};
  /// The absolute path of NVRTC's library. If empty: the environment variable FLOTILLA_NVRTC, then
  /// libnvrtc.so.13 and .12 where the dynamic loader finds them, and in /usr/local/cuda.
  std::filesystem::path nvrtc{};
  /// The compilation is ended after this time, and the call throws timed_out. At least 1 ms.
  std::chrono::milliseconds timeout{120000};
  /// If true, the result is kept on disk, and taken from there if nothing has changed.
  bool cache = true;
  /// The folder of the cache, an absolute path. If empty: $XDG_CACHE_HOME/flotilla, or
  /// ~/.cache/flotilla.
  std::filesystem::path cache_directory{};
  /// If the cache is larger than this number of bytes, the entries that were not used for the
  /// longest time are removed.
  std::size_t cache_bytes = std::size_t{256} << 20;
};

/// Compiles a source in the kernel language, and loads it on every device of the runtime.
///
/// For GPUs, NVRTC compiles it for the oldest architecture among the devices, and flotilla adds
/// twins. If the library nvJitLink is there too and all GPUs have one architecture, the result is
/// machine code; otherwise it is PTX, which the driver translates. For CPU devices, a C++ compiler
/// makes a shared library. NVRTC and the compiler are searched for at the first call that needs
/// them; flotilla does not link to them.
///
/// @param source  A text in the language of kernel_language.hpp, which is included before it. For
///                GPUs, the text may use all of CUDA that NVRTC knows.
/// @return The program. Its kernels are the extern "C" kernels of the source, and those of
///         `name_expressions`.
/// @throws compile_error     The source does not compile, or has no kernel.
/// @throws no_compiler       There is no NVRTC or no C++ compiler.
/// @throws invalid_argument  An option is wrong. The message begins with its name, such as
///                           "compile_options::standard".
/// @throws timed_out         The compiler took longer than `timeout`.
/// @throws bad_image, driver_error, runtime_closed, poisoned, used_after_fork
///
/// Threads   any. Several threads and processes may compile at the same time, also the same source.
/// Blocks    until the compiler has finished: 0.1 to 10 s; a hit in the cache takes about 1 ms, and
///           then the loading. The caller must not hold a device, so not inside a callable.
/// Cost      for CPU devices, the call starts the compiler as a child process, in a folder of its
///           own in TMPDIR or /tmp, which it removes.
/// Files     the cache: a folder that only the user can use (mode 0700). In programs with
///           set-user-id or other raised privileges, the environment is ignored, and there is no
///           cache unless `cache_directory` names one.
[[nodiscard]] FLOTILLA_EXPORT program compile(runtime& rt, std::string_view source,
                                              compile_options const& options = {});

}  // namespace v0_1
}  // namespace flotilla

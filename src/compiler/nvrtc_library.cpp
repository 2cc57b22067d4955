// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/nvrtc_library.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>

#include <flotilla/error/compile_error.hpp>

#include "compiler/host_compiler.hpp"
#include "compiler/privileges.hpp"

namespace flotilla::compiler {

namespace {

template <class Entry>
bool bind(nvrtc_library const& from, char const* name, Entry& entry) {
  entry = reinterpret_cast<Entry>(find_entry(from.file, name));
  return entry != nullptr;
}

/// @return the name of an entry that the library lacks; null if it has all
char const* bind_all(nvrtc_library& made) {
  bind(made, "nvrtcSetFlowCallback", made.set_callback);
  bind(made, "nvrtcInstallBundledHeaders", made.install_headers);
  if (!bind(made, "nvrtcVersion", made.version)) { return "nvrtcVersion"; }
  if (!bind(made, "nvrtcGetErrorString", made.error_text)) { return "nvrtcGetErrorString"; }
  if (!bind(made, "nvrtcCreateProgram", made.create)) { return "nvrtcCreateProgram"; }
  if (!bind(made, "nvrtcDestroyProgram", made.destroy)) { return "nvrtcDestroyProgram"; }
  if (!bind(made, "nvrtcCompileProgram", made.compile)) { return "nvrtcCompileProgram"; }
  if (!bind(made, "nvrtcGetPTXSize", made.ptx_size)) { return "nvrtcGetPTXSize"; }
  if (!bind(made, "nvrtcGetPTX", made.ptx)) { return "nvrtcGetPTX"; }
  if (!bind(made, "nvrtcGetProgramLogSize", made.log_size)) { return "nvrtcGetProgramLogSize"; }
  if (!bind(made, "nvrtcGetProgramLog", made.log)) { return "nvrtcGetProgramLog"; }
  if (!bind(made, "nvrtcAddNameExpression", made.add_name)) { return "nvrtcAddNameExpression"; }
  if (!bind(made, "nvrtcGetLoweredName", made.lowered_name)) { return "nvrtcGetLoweredName"; }
  if (!bind(made, "nvrtcGetNumSupportedArchs", made.architecture_count)) {
    return "nvrtcGetNumSupportedArchs";
  }
  if (!bind(made, "nvrtcGetSupportedArchs", made.architectures)) {
    return "nvrtcGetSupportedArchs";
  }
  return nullptr;
}

/// Returns CUDA's folders of headers: in a toolkit, they are beside the folder of the library.
std::vector<std::string> include_folders_of(std::string const& library) {
  std::error_code failed;
  std::filesystem::path const real = std::filesystem::canonical(library, failed);
  std::filesystem::path above = real.parent_path();
  for (int i = 0; i < 4 && above.has_relative_path(); ++i, above = above.parent_path()) {
    std::filesystem::path const include = above / "include";
    if (!std::filesystem::exists(include / "cuda_fp16.h", failed)) { continue; }
    std::vector<std::string> found{include.string()};
    if (std::filesystem::is_directory(include / "cccl", failed)) {
      found.push_back((include / "cccl").string());
    }
    return found;
  }
  return {};
}

nvrtc_library open(std::vector<std::string> const& names, std::string const& origin) {
  nvrtc_library made;
  made.file = open_first(names);
  if (made.file.handle == nullptr) {
    throw no_compiler(
        origin +
        "compiling kernels for GPUs needs NVRTC, a library of the CUDA toolkit, but there "
        "is none: " +
        made.file.tried +
        ". Install it (Debian: cuda-nvrtc-13-0 of NVIDIA's repository; Python: the wheel "
        "nvidia-cuda-nvrtc), or name its file with FLOTILLA_NVRTC or compile_options::nvrtc");
  }
  char const* const missing = bind_all(made);
  if (missing != nullptr || made.version(&made.major, &made.minor) != nvrtc_success) {
    throw no_compiler(origin + made.file.path + " is not NVRTC 12.0 or later" +
                      (missing != nullptr ? std::string{": it lacks "} + missing : ""));
  }
  made.include_folders = include_folders_of(made.file.path);
  made.identity = file_identity(made.file.path, R_OK) + " " + std::to_string(made.major) + "." +
                  std::to_string(made.minor);
  return made;
}

}  // namespace

int nvrtc_library::best_architecture(int of_device) const {
  int count = 0;
  if (architecture_count(&count) != nvrtc_success || count <= 0) { return 0; }
  std::vector<int> all(static_cast<std::size_t>(count));
  if (architectures(all.data()) != nvrtc_success) { return 0; }
  int best = 0;
  for (int const each : all) {
    if (each <= of_device) { best = std::max(best, each); }
  }
  return best;
}

nvrtc_library const& open_nvrtc(compile_options const& options) {
  // Never closed, because other threads may be compiling when the process ends.
  static auto& mutex = *new std::mutex;
  static auto& opened = *new std::map<std::string, std::unique_ptr<nvrtc_library const>>;
  std::string named = options.nvrtc.string();
  std::string origin = "compile_options::nvrtc: ";
  if (named.empty()) {
    named = trusted_environment("FLOTILLA_NVRTC");
    origin = "environment variable FLOTILLA_NVRTC: ";
    if (!named.empty() && !named.starts_with('/')) {
      throw no_compiler(origin + "'" + named + "' is not an absolute path");
    }
  }
  std::vector<std::string> names{named};
  if (named.empty()) {
    origin.clear();
    names = {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so.13",
             "/usr/local/cuda/lib64/libnvrtc.so.12"};
  }
  std::lock_guard const lock(mutex);
  auto& entry = opened[named];
  if (entry == nullptr) { entry = std::make_unique<nvrtc_library const>(open(names, origin)); }
  return *entry;
}

}  // namespace flotilla::compiler

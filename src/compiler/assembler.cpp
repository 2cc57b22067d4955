// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/assembler.hpp"

#include <unistd.h>

#include <filesystem>

#include "compiler/host_compiler.hpp"

namespace flotilla::compiler {

namespace {

constexpr int input_ptx = 2;  // NVJITLINK_INPUT_PTX

std::vector<std::string> names_beside(nvrtc_library const& nvrtc) {
  std::string const name = "libnvJitLink.so." + std::to_string(nvrtc.major);
  std::filesystem::path const folder = std::filesystem::path{nvrtc.file.path}.parent_path();
  // NVIDIA's wheels of CUDA 12 have one folder for each library.
  return {(folder / name).string(), (folder / "../../nvjitlink/lib" / name).string(), name};
}

}  // namespace

assembler::assembler(nvrtc_library const& beside) : file_(open_first(names_beside(beside))) {
  if (file_.handle == nullptr) { return; }
  auto const bind = [&](char const* name, auto& entry) {
    // The names of the entries have the version of the library.
    std::string const versioned = "__" + std::string{name} + "_" + std::to_string(beside.major) +
                                  "_" + std::to_string(beside.minor);
    void* found = find_entry(file_, versioned.c_str());
    if (found == nullptr) { found = find_entry(file_, name); }
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(found);
    return found != nullptr;
  };
  bool const complete =
      bind("nvJitLinkDestroy", destroy_) && bind("nvJitLinkAddData", add_) &&
      bind("nvJitLinkComplete", complete_) && bind("nvJitLinkGetLinkedCubinSize", cubin_size_) &&
      bind("nvJitLinkGetLinkedCubin", cubin_) && bind("nvJitLinkGetErrorLogSize", log_size_) &&
      bind("nvJitLinkGetErrorLog", log_) && bind("nvJitLinkCreate", create_);
  if (!complete) { create_ = nullptr; }
  if (is_usable()) { identity_ = file_identity(file_.path, R_OK); }
}

std::optional<std::string> assembler::assemble(std::string const& ptx, int architecture,
                                               std::vector<std::string> const& options,
                                               std::string& why_not) const {
  std::string const target = "-arch=sm_" + std::to_string(architecture);
  std::vector<char const*> all{target.c_str()};
  for (std::string const& each : options) { all.push_back(each.c_str()); }
  handle link = nullptr;
  if (create_(&link, static_cast<unsigned>(all.size()), all.data()) != 0) {
    why_not = "nvJitLink refuses its options, " + target;
    return {};
  }
  std::size_t bytes = 0;
  std::string cubin;
  bool done = add_(link, input_ptx, ptx.data(), ptx.size(), "kernels.ptx") == 0 &&
              complete_(link) == 0 && cubin_size_(link, &bytes) == 0;
  if (done) {
    cubin.resize(bytes);
    done = cubin_(link, cubin.data()) == 0;
  }
  if (!done && log_size_(link, &bytes) == 0) {
    why_not.resize(bytes);
    if (bytes > 0 && log_(link, why_not.data()) != 0) { why_not.clear(); }
    while (!why_not.empty() && why_not.back() == '\0') { why_not.pop_back(); }
  }
  destroy_(&link);
  if (!done) { return {}; }
  return cubin;
}

}  // namespace flotilla::compiler

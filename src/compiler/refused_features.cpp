// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/refused_features.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace flotilla::compiler {

namespace {

struct refused_word {
  std::string_view word;
  std::string_view feature;
  std::string_view next;  ///< the token that must follow; empty: any
};

constexpr refused_word words[] = {
    {"asm", "inline assembly (asm)", ""},
    {"__asm__", "inline assembly (asm)", ""},
    {"__asm", "inline assembly (asm)", ""},
    {"__managed__", "managed variables (__managed__)", ""},
    {"__cluster_dims__", "block clusters (__cluster_dims__)", ""},
    {"cooperative_groups", "cooperative groups (cooperative_groups)", ""},
    {"nvcuda", "warp matrix functions (nvcuda::wmma)", ""},
    {"texture", "texture references (texture<>)", "<"},
    {"cudaTextureObject_t", "textures (cudaTextureObject_t)", ""},
    {"surface", "surface references (surface<>)", "<"},
    {"cudaSurfaceObject_t", "surfaces (cudaSurfaceObject_t)", ""},
};

/// A family of functions: a name with this beginning, then `(` or `<`.
struct refused_family {
  std::string_view begin;
  std::string_view feature;
};
constexpr std::string_view textures = "texture fetches (tex1D, tex2D, ...)";
constexpr std::string_view surfaces = "surface functions (surf2Dread, ...)";
constexpr std::string_view device_runtime =
    "functions of the device runtime (cudaMalloc, cudaLaunchDevice, ...)";
constexpr refused_family families[] = {
    {"tex1D", textures},
    {"tex2D", textures},
    {"tex3D", textures},
    {"texCubemap", textures},
    {"surf1D", surfaces},
    {"surf2D", surfaces},
    {"surf3D", surfaces},
    {"surfCubemap", surfaces},
    {"cudaLaunch", device_runtime},
    {"cudaMalloc", device_runtime},
    {"cudaMemcpy", device_runtime},
    {"cudaMemset", device_runtime},
    {"cudaStream", device_runtime},
    {"cudaEvent", device_runtime},
    {"cudaDevice", device_runtime},
};

std::string_view feature_at(std::span<cpu_token const> tokens, std::size_t i) {
  auto const next = [&](std::size_t ahead) {
    return i + ahead < tokens.size() ? tokens[i + ahead].text : std::string_view{};
  };
  if (tokens[i].is("<") && next(1) == "<" && next(2) == "<") {
    return "launches in a kernel source (<<<>>>)";
  }
  for (refused_word const& each : words) {
    if (tokens[i].is(each.word) && (each.next.empty() || next(1) == each.next)) {
      return each.feature;
    }
  }
  if (next(1) == "(" || next(1) == "<") {
    for (refused_family const& each : families) {
      if (tokens[i].text.starts_with(each.begin)) { return each.feature; }
    }
  }
  return {};
}

}  // namespace

std::string error_line(cpu_token const& where, std::string const& text) {
  return std::string{where.file} + ":" + std::to_string(where.line) + ": error: " + text + "\n";
}

std::string find_refused_features(std::span<cpu_token const> tokens) {
  std::string errors;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::string_view const feature = feature_at(tokens, i);
    if (!feature.empty()) {
      errors += error_line(tokens[i], std::string{feature} + ": not available on CPU devices");
      if (tokens[i].is("<")) { i += 2; }
    }
    bool const shared =
        i + 1 < tokens.size() && ((tokens[i].is("extern") && tokens[i + 1].is("__shared__")) ||
                                  (tokens[i].is("__shared__") && tokens[i + 1].is("extern")));
    if (shared) {
      errors += error_line(tokens[i],
                           "extern __shared__ is not for host compilers: write "
                           "FLOTILLA_DYNAMIC_SHARED");
    }
  }
  return errors;
}

}  // namespace flotilla::compiler

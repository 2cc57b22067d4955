// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which types of the driver's interface are handles of objects that live in a worker.

#include <cuda.h>

#include <cstdint>

namespace flotilla::isolated {

enum class object_kind : std::uint8_t {
  none,
  context,
  stream,
  event,
  module,
  function,
  library,
  kernel,
  graph,
  graph_node,
  graph_exec
};

template <class Type>
inline constexpr object_kind kind_of = object_kind::none;
template <>
inline constexpr object_kind kind_of<CUcontext> = object_kind::context;
template <>
inline constexpr object_kind kind_of<CUstream> = object_kind::stream;
template <>
inline constexpr object_kind kind_of<CUevent> = object_kind::event;
template <>
inline constexpr object_kind kind_of<CUmodule> = object_kind::module;
template <>
inline constexpr object_kind kind_of<CUfunction> = object_kind::function;
template <>
inline constexpr object_kind kind_of<CUlibrary> = object_kind::library;
template <>
inline constexpr object_kind kind_of<CUkernel> = object_kind::kernel;
template <>
inline constexpr object_kind kind_of<CUgraph> = object_kind::graph;
template <>
inline constexpr object_kind kind_of<CUgraphNode> = object_kind::graph_node;
template <>
inline constexpr object_kind kind_of<CUgraphExec> = object_kind::graph_exec;

template <class Type>
inline constexpr bool is_handle = kind_of<Type> != object_kind::none;

}  // namespace flotilla::isolated

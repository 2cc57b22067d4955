// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The device-updated graph templates of one device.

#include <cuda.h>

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/graph/graph_memory.hpp"
#include "dispatch/graph/graph_template.hpp"

namespace flotilla::dispatch {

/// The *form* of a template or batch: the properties that the device cannot change.
struct launch_form {
  graph_template::shape shape;
  std::uint32_t kernel;
  std::array<std::uint16_t, 3> block;
  std::uint32_t shared_bytes;
  auto operator<=>(launch_form const&) const = default;
};

/// Keeps the free device-updated templates, by form, and decides when to create one.
///
/// Creating a template costs the host about as much as rewriting 32 templates of its size. So the
/// first template of a form is created after the host has rewritten 32 batches of that form, the
/// second after 16 (32/2) more, the third after 11 (32/3) more, and so on. The intervals shrink,
/// because a form that needed several templates will probably need more. With this rule, creating
/// templates never costs much more than rewriting, whatever the program does.
///
/// The memory that is reserved for graphs limits the number of templates (graph_memory). If the
/// limit is reached and the device is idle, a new template replaces an old one (see give_up_one).
///
/// Threads: only the holder of the device's lease, with the context current. In a steady state
/// nothing is allocated.
class device_updated_pool {
 public:
  static constexpr std::uint32_t creation_cost_rewrites = 32;
  // The maximum number of chains in all device-updated templates: half of the reserved memory. The
  // other half is for templates that the host rewrites.
  static constexpr std::uint32_t max_chains = reserved_chains / 2;
  // The maximum number of forms. For batches of any further form, the host rewrites templates.
  static constexpr std::size_t max_forms = 1024;
  static constexpr std::uint32_t max_refusals = 8;  // refused launches of one form (note_refusal)
  // The minimum sizes of device-updated templates, for short and for long-running kernels. Smaller
  // batches end sooner if the host rewrites their templates.
  static constexpr std::uint32_t min_nodes = 16;
  static constexpr std::uint32_t min_nodes_long_running = 4;

  device_updated_pool(context::context_handle const& context, registered_slabs& memory) noexcept
      : context_(context), memory_(memory) {}
  /// Sets the updating kernel.
  /// @param update  builtin_functions::update. Null: the pool stays empty and is not `usable`.
  void use(CUfunction update) noexcept;
  [[nodiscard]] bool usable() const noexcept { return update_ != nullptr; }

  struct request {
    launch_form form;
    std::uint32_t argument_bytes;
    CUdeviceptr counter;
    CUfunction completion;
    CUstream stream;  // the stream of the launch
    // Whether the batch uses every node. Templates are created only for such batches. Nodes cannot
    // be instantiated as disabled, and a first launch must not depend on the device disabling nodes
    // (docs/results/h200x4-first-launch.txt).
    bool full;
    // Whether nothing is in flight on the device. Graphs are destroyed only if this is true,
    // because destroying a graph waits until the device is idle.
    bool device_idle;
  };
  /// Returns a free or new template of the requested form. Returns null if no template is free and
  /// the pool creates none now.
  /// @param first  The launches of the batch. Used only if a template is created.
  [[nodiscard]] graph_template* take(request const& wanted,
                                     graph_template::launches const& first) noexcept;
  /// Records that the driver refused to launch a template. After max_refusals refusals, `take`
  /// returns null for the template's form.
  void note_refusal(graph_template& refused) noexcept;
  /// Takes a template back. Call it after the batch has ended or was cancelled. A template that was
  /// never launched is not used again, because its first launch could need disabled nodes (see
  /// `full`). Such templates are destroyed before all others.
  void give_back(graph_template& unused) noexcept;
  void destroy() noexcept;
  /// The number of chains in all templates.
  [[nodiscard]] std::uint32_t chains() const noexcept { return chains_; }

 private:
  /// The templates of one form.
  struct family {
    std::vector<std::unique_ptr<graph_template>> all;
    std::vector<graph_template*> free;
    // number of batches that the host rewrote since the last template was created
    std::uint32_t rewritten = 0;
    // The value of takes_ when a template of this form was last requested.
    std::uint64_t last_taken = 0;
    std::uint32_t refusals = 0;  // refused launches
    bool refused = false;        // whether `take` returns null for this form from now on
  };
  [[nodiscard]] family* family_of(launch_form const& form, std::uint32_t& number);
  [[nodiscard]] graph_template* create(family& form, std::uint32_t number, request const& wanted,
                                       graph_template::launches const& first);
  /// Destroys a template that was never launched. If there is none, destroys a free template of the
  /// form whose last request is oldest. Returns whether a template was destroyed.
  bool give_up_one() noexcept;

  context::context_handle const& context_;
  registered_slabs& memory_;
  CUfunction update_ = nullptr;
  std::map<launch_form, std::uint32_t> numbers_;  // indices into families_
  std::vector<family> families_;
  std::vector<std::unique_ptr<graph_template>> never_launched_;  // not used again
  std::size_t made_ = 0;
  std::uint32_t chains_ = 0;
  std::uint64_t takes_ = 0;
};

}  // namespace flotilla::dispatch

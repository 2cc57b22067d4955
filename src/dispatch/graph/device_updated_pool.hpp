#pragma once
// The graph templates of one device that the device updates itself.

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

/// The properties of a batch that the device cannot change.
struct launch_form {
  graph_template::shape shape;
  std::uint32_t kernel;
  std::array<std::uint16_t, 3> block;
  std::uint32_t shared_bytes;
  auto operator<=>(launch_form const&) const = default;
};

/// Creating such a template costs the host about 32 rewrites of its size. So the first one of a
/// form is created after 32 batches of that form had to be rewritten, the second after 16 more, and
/// so on: a form that needed several templates will need more. In this way templates cost little
/// more than rewriting, whatever the program does. Their number is bounded by the memory reserved
/// for them (graph_memory). If the bound is reached and another form needs a template while the
/// device is idle, the form that was not used for longest gives one up.
///
/// Only the holder of the device's lease, with the context current. Steady state: allocates
/// nothing.
class device_updated_pool {
 public:
  static constexpr std::uint32_t creation_cost_rewrites = 32;
  // Chains of all templates; the rest of the reserved memory is for rewritten ones.
  static constexpr std::uint32_t max_chains = reserved_chains / 2;
  static constexpr std::size_t max_forms = 1024;    // others are rewritten
  static constexpr std::uint32_t max_refusals = 8;  // of launches of one form
  // Smaller batches end sooner if they are rewritten.
  static constexpr std::uint32_t min_nodes = 16;
  static constexpr std::uint32_t min_nodes_long_running = 4;

  device_updated_pool(context::context_handle const& context, registered_slabs& memory) noexcept
      : context_(context), memory_(memory) {}
  /// @param update  builtin_functions::update; null: the pool stays empty and is not `usable`.
  void use(CUfunction update) noexcept;
  [[nodiscard]] bool usable() const noexcept { return update_ != nullptr; }

  struct request {
    launch_form form;
    std::uint32_t argument_bytes;
    CUdeviceptr counter;
    CUfunction completion;
    CUstream stream;  // where it will be launched
    // Whether every node will run. Templates are created only for such batches: nodes cannot be
    // instantiated disabled, and nothing may depend on what a first launch disables
    // (docs/results/h200x4-first-launch.txt).
    bool full;
    // Whether nothing is in flight: destroying a graph waits for everything that is.
    bool device_idle;
  };
  /// A template of that form, or null: none is free, and none is created now.
  /// @param first  What each node shall hold. Asked for only if the batch is full.
  [[nodiscard]] graph_template* take(request const& wanted,
                                     graph_template::launches const& first) noexcept;
  /// The driver refused to launch it. After some refusals the form is rewritten from then on.
  void note_refusal(graph_template& refused) noexcept;
  /// Takes a template back after its batch is done, or if that batch never began. If the driver
  /// refused a template's first launch, the template is not used again: its next launch would be
  /// the first one, and nothing may depend on the nodes that a first launch disables. Such a
  /// template is the first to be freed.
  void give_back(graph_template& unused) noexcept;
  void destroy() noexcept;
  /// Chains of all templates.
  [[nodiscard]] std::uint32_t chains() const noexcept { return chains_; }

 private:
  /// The templates of one form.
  struct family {
    std::vector<std::unique_ptr<graph_template>> all;
    std::vector<graph_template*> free;
    std::uint32_t rewritten = 0;   // batches, since the last template was created
    std::uint64_t last_taken = 0;  // the value of takes_
    std::uint32_t refusals = 0;    // of launches
    bool refused = false;          // the driver refuses such templates
  };
  [[nodiscard]] family* family_of(launch_form const& form, std::uint32_t& number);
  [[nodiscard]] graph_template* create(family& form, std::uint32_t number, request const& wanted,
                                       graph_template::launches const& first);
  /// Destroys a free template that was not needed for long. @return whether there was one.
  bool give_up_one() noexcept;

  context::context_handle const& context_;
  registered_slabs& memory_;
  CUfunction update_ = nullptr;
  std::map<launch_form, std::uint32_t> numbers_;  // of families
  std::vector<family> families_;
  std::vector<std::unique_ptr<graph_template>> never_launched_;  // and never will be
  std::size_t made_ = 0;
  std::uint32_t chains_ = 0;
  std::uint64_t takes_ = 0;
};

}  // namespace flotilla::dispatch

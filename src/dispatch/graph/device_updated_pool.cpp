// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/device_updated_pool.hpp"

#include <algorithm>
#include <new>

#include <flotilla/error/error.hpp>

#include "dispatch/graph/updatable.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

void device_updated_pool::use(CUfunction update) noexcept {
  driver::table const& api = context_.api();
  bool const has_calls =
      api.graph_kernel_node_set_attribute != nullptr && api.graph_upload != nullptr;
  update_ = has_calls ? update : nullptr;
}

device_updated_pool::family* device_updated_pool::family_of(launch_form const& form,
                                                            std::uint32_t& number) {
  auto const found = numbers_.find(form);
  if (found != numbers_.end()) {
    number = found->second;
    return &families_[number];
  }
  if (families_.size() >= max_forms) { return nullptr; }
  number = static_cast<std::uint32_t>(families_.size());
  families_.emplace_back();
  try {
    numbers_.emplace(form, number);
  } catch (...) {
    families_.pop_back();
    throw;
  }
  return &families_[number];
}

bool device_updated_pool::give_up_one() noexcept {
  if (!never_launched_.empty()) {
    chains_ -= never_launched_.back()->dimensions().chains;
    never_launched_.pop_back();
    return true;
  }
  family* oldest = nullptr;
  for (family& each : families_) {
    if (!each.free.empty() && (oldest == nullptr || each.last_taken < oldest->last_taken)) {
      oldest = &each;
    }
  }
  if (oldest == nullptr) { return false; }
  graph_template* const gone = oldest->free.back();
  oldest->free.pop_back();
  chains_ -= gone->dimensions().chains;
  std::erase_if(oldest->all, [gone](auto const& each) { return each.get() == gone; });
  return true;
}

graph_template* device_updated_pool::take(request const& wanted,
                                          graph_template::launches const& first) noexcept {
  family* found = nullptr;
  try {
    std::uint32_t number = 0;
    found = family_of(wanted.form, number);
    if (found == nullptr || found->refused) { return nullptr; }
    found->last_taken = ++takes_;
    if (!found->free.empty()) {
      graph_template* const free = found->free.back();
      found->free.pop_back();
      return free;
    }
    bool const pays = ++found->rewritten * (found->all.size() + 1) >= creation_cost_rewrites;
    if (!pays || !wanted.full) { return nullptr; }
    found->rewritten = 0;
    while (chains_ + wanted.form.shape.chains > max_chains) {
      if (!wanted.device_idle || !give_up_one()) { return nullptr; }
    }
    return create(*found, number, wanted, first);
  } catch (driver_error const& why) {
    // Ignore the error: the host rewrites a template for this batch instead. If the device is
    // unusable, the rewrite fails as well and reports the error.
    if (why.status() == driver::status_of(CUDA_ERROR_OUT_OF_MEMORY)) {
      found->refused = false;  // there may be memory later
    }
  } catch (std::bad_alloc const&) {
    if (found != nullptr) { found->refused = false; }
  }
  return nullptr;
}

graph_template* device_updated_pool::create(family& form, std::uint32_t number,
                                            request const& wanted,
                                            graph_template::launches const& first) {
  form.refused = true;  // reset below if the creation succeeds
  if (!is_updatable(context_, first(0).func)) { return nullptr; }
  graph_template::update const update{update_, wanted.argument_bytes, wanted.stream, memory_,
                                      number};
  form.all.reserve(form.all.size() + 1);
  form.free.reserve(form.all.size() + 1);  // so that give_back never allocates
  // so that give_back never allocates
  never_launched_.reserve(++made_);
  form.all.push_back(std::make_unique<graph_template>(context_, wanted.form.shape, first,
                                                      wanted.counter, wanted.completion, update));
  form.refused = false;
  chains_ += wanted.form.shape.chains;
  return form.all.back().get();
}

void device_updated_pool::note_refusal(graph_template& refused) noexcept {
  family& form = families_[refused.family()];
  if (++form.refusals >= max_refusals) { form.refused = true; }
}

void device_updated_pool::give_back(graph_template& unused) noexcept {
  family& form = families_[unused.family()];
  if (unused.was_launched()) { return form.free.push_back(&unused); }
  auto const found = std::find_if(form.all.begin(), form.all.end(),
                                  [&unused](auto const& each) { return each.get() == &unused; });
  never_launched_.push_back(std::move(*found));
  form.all.erase(found);
}

void device_updated_pool::destroy() noexcept {
  numbers_.clear();
  families_.clear();
  never_launched_.clear();
  chains_ = 0;
  update_ = nullptr;
}

}  // namespace flotilla::dispatch

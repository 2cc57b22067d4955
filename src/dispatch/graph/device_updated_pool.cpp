#include "dispatch/updated_templates.hpp"

#include <algorithm>
#include <new>

#include <flotilla/error.hpp>

#include "dispatch/updatable.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

void updated_templates::use(CUfunction updater) noexcept {
  driver::table const& api = context_.api();
  bool const can = api.graph_kernel_node_set_attribute != nullptr && api.graph_upload != nullptr;
  updater_ = can ? updater : nullptr;
}

updated_templates::family* updated_templates::family_of(launch_form const& form, std::uint32_t& number) {
  auto const found = numbers_.find(form);
  if (found != numbers_.end()) {
    number = found->second;
    return &families_[number];
  }
  if (families_.size() >= most_forms) { return nullptr; }
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

bool updated_templates::give_up_one() noexcept {
  if (!dead_.empty()) {
    chains_ -= dead_.back()->width();
    dead_.pop_back();
    return true;
  }
  family* oldest = nullptr;
  for (family& each : families_) {
    if (!each.free.empty() && (oldest == nullptr || each.last_taken < oldest->last_taken)) { oldest = &each; }
  }
  if (oldest == nullptr) { return false; }
  graph_template* const gone = oldest->free.back();
  oldest->free.pop_back();
  chains_ -= gone->width();
  std::erase_if(oldest->all, [gone](auto const& each) { return each.get() == gone; });
  return true;
}

graph_template* updated_templates::take(launch_form const& form, graph_template::filling const& first,
                                        std::uint32_t argument_bytes, CUdeviceptr counter, CUfunction marker,
                                        CUstream stream, bool whole, bool idle) noexcept {
  family* of = nullptr;
  try {
    std::uint32_t number = 0;
    of = family_of(form, number);
    if (of == nullptr || of->refused) { return nullptr; }
    of->last_taken = ++takes_;
    if (!of->free.empty()) {
      graph_template* const got = of->free.back();
      of->free.pop_back();
      return got;
    }
    if (++of->rewritten * (of->all.size() + 1) < price || !whole) { return nullptr; }
    of->rewritten = 0;
    while (chains_ + form.shape.width > most_chains) {
      if (!idle || !give_up_one()) { return nullptr; }
    }
    of->refused = true;  // until there is one
    if (!is_updatable(context_, first(0).func)) { return nullptr; }
    graph_template::updating const update{updater_, argument_bytes, stream, memory_, number};
    of->all.reserve(of->all.size() + 1);
    of->free.reserve(of->all.size() + 1);  // so that give_back never allocates
    dead_.reserve(++made_);
    of->all.push_back(std::make_unique<graph_template>(context_, form.shape, first, counter, marker, update));
    of->refused = false;
    chains_ += form.shape.width;
    return of->all.back().get();
  } catch (driver_error const& why) {
    // It is rewritten then. What is wrong with the device, if that is the cause, will be heard of there.
    if (why.status() == driver::status_of(CUDA_ERROR_OUT_OF_MEMORY)) { of->refused = false; }  // another time perhaps
  } catch (std::bad_alloc const&) {
    if (of != nullptr) { of->refused = false; }
  }
  return nullptr;
}

void updated_templates::note_refusal(graph_template& refused) noexcept {
  family& of = families_[refused.family()];
  if (++of.refusals >= most_refusals) { of.refused = true; }
}

void updated_templates::give_back(graph_template& done) noexcept {
  family& of = families_[done.family()];
  if (done.has_run()) { return of.free.push_back(&done); }
  auto const found = std::find_if(of.all.begin(), of.all.end(), [&done](auto const& each) { return each.get() == &done; });
  dead_.push_back(std::move(*found));
  of.all.erase(found);
}

void updated_templates::destroy() noexcept {
  numbers_.clear();
  families_.clear();
  dead_.clear();
  chains_ = 0;
  updater_ = nullptr;
}

}  // namespace flotilla::dispatch

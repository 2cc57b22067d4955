#include "dispatch/recorded_part.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include <flotilla/error.hpp>

#include "driver/check.hpp"

namespace flotilla::dispatch {

recorded_part::recorded_part(context::floating_context const& context, making const& from)
    : lists(from.plan.tasks.size()), context_(context), plan_(from.plan), table_(from.table), counter_(from.counter),
      own_(from.own), page_(from.page), device_(from.plan.device),
      kernels_(new std::atomic<std::uint32_t>[from.plan.tasks.size()]), holds_(from.plan.tasks.size()),
      owed_(from.plan.tasks.size()) {
  for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) {
    std::visit([&](auto const& what) { holds_.put(i, what); }, from.actions[plan_.tasks[i]]);
    kernels_[i].store(holds_.changes()[i].kernel, std::memory_order_relaxed);
  }
  try {
    graph_ = make(&from.records);
  } catch (driver_error const& why) {
    // The driver may have a graph of these nodes, and none that updates itself: then it is heard of again.
    if (from.own.updater == nullptr || is_sticky(why.status())) { throw; }
    graph_ = make(nullptr);
  }
  if (!graph_->updated()) { holds_ = change_list{0}; }
}

std::unique_ptr<recorded_graph> recorded_part::make(mapped_slabs* records) {
  return std::make_unique<recorded_graph>(
      context_, recorded_graph::making{plan_, holds_, table_, counter_, own_, records, page_,
                                       [this](std::optional<std::uint32_t> node) { return subject(node); }});
}

std::string recorded_part::words(std::uint32_t kernel) const {
  return kernel == change_list::no_kernel ? "a copy or fill" : "kernel '" + table_.kernels[kernel].name + "'";
}

std::string recorded_part::subject(std::optional<std::uint32_t> node) const {
  if (!node) { return describe() + ", " + context_.subject(); }
  return words(kernels_[*node].load(std::memory_order_relaxed)) + ", task " + std::to_string(plan_.tasks[*node]) +
         " of a recording, " + context_.subject();
}

void recorded_part::destroy() noexcept {
  if (graph_ != nullptr) { graph_->destroy(); }
  if (left_ != nullptr) { left_->destroy(); }
}

recorded_part::refusal recorded_part::rewrite(std::uint32_t changes) {
  if (owed_.empty()) {
    if (changes != change_lists::none) { return rewrite(lists.at(changes)); }
    graph_->begin(0);
    return {};
  }
  // What is owed is older than what this replay changes; all of it is tried again, which does no harm.
  if (changes != change_lists::none) { owed_.put_all(lists.at(changes)); }
  return rewrite(owed_);
}

recorded_part::refusal recorded_part::rewrite(change_list const& changes) {
  std::span<change_list::change const> const all = changes.changes();
  if (graph_->updated()) {
    holds_.put_all(changes);
    bool const can = std::all_of(all.begin(), all.end(), [this](auto const& each) { return graph_->can_become(each); });
    if (!can) { return leave_updating(); }
  }
  graph_->begin(all.size());
  for (change_list::change const& each : all) {
    recorded_graph::outcome const came = graph_->put(each, changes.arguments(each));
    if (came.status != CUDA_SUCCESS) { return {came.status, came.call, each.kernel}; }
    kernels_[each.node].store(each.kernel, std::memory_order_relaxed);
  }
  return {};
}

recorded_part::refusal recorded_part::leave_updating() {
  std::vector<std::uint32_t> held;  // for messages, until the nodes hold others
  auto const name_all = [&](auto const& kernel_of) {
    for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) { kernels_[i].store(kernel_of(i), std::memory_order_relaxed); }
  };
  try {
    for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) { held.push_back(kernels_[i].load(std::memory_order_relaxed)); }
    name_all([this](std::uint32_t i) { return holds_.changes()[i].kernel; });
    std::unique_ptr<recorded_graph> made = make(nullptr);
    left_ = std::exchange(graph_, std::move(made));
    holds_ = change_list{0};
    return {};
  } catch (driver_error const& why) {
    name_all([&](std::uint32_t i) { return held[i]; });
    return {.status = static_cast<CUresult>(why.status()), .why = std::current_exception()};
  } catch (std::bad_alloc const&) {
    if (held.size() == plan_.tasks.size()) { name_all([&](std::uint32_t i) { return held[i]; }); }
    return {.status = CUDA_ERROR_OUT_OF_MEMORY, .why = std::current_exception()};
  }
}

void recorded_part::owe(std::uint32_t changes) {
  if (changes == change_lists::none) { return; }
  owed_.put_all(lists.at(changes));
  lists.give_back(changes);
}

CUresult recorded_part::enqueue(lane const& on, std::uint64_t number) noexcept {
  CUresult const answer = graph_->enqueue(on, number);
  if (answer == CUDA_SUCCESS) { owed_.clear(); }
  return answer;
}

CUresult recorded_part::upload(CUstream stream) {
  CUresult answer = graph_->upload(stream);
  if (answer == CUDA_SUCCESS && graph_->updated()) { answer = context_.api().stream_synchronize(stream); }
  if (answer == CUDA_SUCCESS || !graph_->updated() || is_sticky(driver::status_of(answer))) { return answer; }
  refusal const left = leave_updating();
  if (left.why != nullptr) { std::rethrow_exception(left.why); }
  return CUDA_SUCCESS;
}

std::string recorded_part::describe() const {
  constexpr std::size_t most_named = 4;
  std::vector<std::uint32_t> seen;
  std::string names;
  for (std::size_t i = 0; i < plan_.tasks.size() && seen.size() <= most_named; ++i) {
    std::uint32_t const kernel = kernels_[i].load(std::memory_order_relaxed);
    if (kernel == change_list::no_kernel || std::find(seen.begin(), seen.end(), kernel) != seen.end()) { continue; }
    seen.push_back(kernel);
    names += seen.size() > most_named ? " and others" : (names.empty() ? "'" : ", '") + table_.kernels[kernel].name + "'";
  }
  return "a replay of " + std::to_string(plan_.tasks.size()) + (plan_.tasks.size() == 1 ? " recorded task" : " recorded tasks") +
         (names.empty() ? "" : std::string{seen.size() == 1 ? ", kernel " : ", kernels "} + names);
}

std::uint32_t recorded_parts::add(std::shared_ptr<recorded_part> part) {
  std::lock_guard const lock{mutex_};
  if (free_.empty()) {
    parts_.push_back(std::move(part));
    return static_cast<std::uint32_t>(parts_.size() - 1);
  }
  std::uint32_t const index = free_.back();
  free_.pop_back();
  parts_[index] = std::move(part);
  return index;
}

std::shared_ptr<recorded_part> recorded_parts::get(std::uint32_t index) const {
  std::lock_guard const lock{mutex_};
  return index < parts_.size() ? parts_[index] : nullptr;
}

std::shared_ptr<recorded_part> recorded_parts::take(std::uint32_t index) {
  std::lock_guard const lock{mutex_};
  std::shared_ptr<recorded_part> taken = std::move(parts_[index]);
  free_.push_back(index);
  return taken;
}

void recorded_parts::destroy_all_of(unsigned device) noexcept {
  std::lock_guard const lock{mutex_};
  for (auto const& each : parts_) {
    if (each != nullptr && each->device() == device) { each->destroy(); }
  }
}

}  // namespace flotilla::dispatch

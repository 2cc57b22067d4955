// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The multiprocessors of a device, their groups, and the execution affinity of a context.
#include <array>

#include "parts.hpp"
#include "transcript.hpp"

namespace transcript {

CUdevResource whole_device() {
  CUdevResource whole{};
  cuDeviceGetDevResource(0, &whole, sm);
  return whole;
}

void split(char const* what, CUdevResource const& input, unsigned groups, unsigned flags,
           unsigned least) {
  std::array<CUdevResource, 132> parts{};
  CUdevResource rest{};
  unsigned made = groups;
  CUresult const status =
      cuDevSmResourceSplitByCount(parts.data(), &made, &input, &rest, flags, least);
  say(what, status,
      status ? ""
             : text(made) + " of " + text(parts[0].sm.smCount) + ", " +
                   (rest.type == sm ? text(rest.sm.smCount) : "none") + " left");
}

void resources_of_devices() {
  CUdevResource whole{};
  CUresult status = cuDeviceGetDevResource(0, &whole, sm);
  say("multiprocessors of device 0", status,
      text(whole.sm.smCount) + " least " + text(whole.sm.minSmPartitionSize) + " together " +
          text(whole.sm.smCoscheduledAlignment));
  say("of device 99", cuDeviceGetDevResource(99, &whole, sm));
  say("of no kind", cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_INVALID));
  say("of an unknown kind", cuDeviceGetDevResource(0, &whole, static_cast<CUdevResourceType>(77)));
  say("nowhere to put them", cuDeviceGetDevResource(0, nullptr, sm));

  whole = whole_device();
  for (unsigned const least :
       {0u, 1u, 2u, 8u, 9u, 16u, 17u, 24u, 64u, 66u, 100u, 128u, 132u, 133u}) {
    split(("split by " + text(least)).c_str(), whole, 132, 0, least);
  }
  for (unsigned const least : {0u, 1u, 2u, 3u, 4u, 5u, 16u, 132u}) {
    split(("fine split by " + text(least)).c_str(), whole, 132,
          CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, least);
  }
  for (unsigned const least : {0u, 8u, 16u, 17u, 32u}) {
    split(("cluster split by " + text(least)).c_str(), whole, 132,
          CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE, least);
  }
  split("split with flags 3", whole, 132, 3, 16);
  split("split with flags 4", whole, 132, 4, 16);
  split("one group of 16", whole, 1, 0, 16);
  split("two groups of 64", whole, 2, 0, 64);
  split("three groups of 64", whole, 3, 0, 64);
  split("no group", whole, 0, 0, 16);

  unsigned count = 99;
  status = cuDevSmResourceSplitByCount(nullptr, &count, &whole, nullptr, 0, 16);
  say("how many of 16", status, text(count));
  count = 2;
  status = cuDevSmResourceSplitByCount(nullptr, &count, &whole, nullptr, 0, 16);
  say("how many of 16, two wanted", status, text(count));
  std::array<CUdevResource, 132> parts{};
  count = 2;
  status = cuDevSmResourceSplitByCount(parts.data(), &count, &whole, nullptr, 0, 16);
  say("no remainder wanted", status, text(count));
  say("no number", cuDevSmResourceSplitByCount(parts.data(), nullptr, &whole, nullptr, 0, 16));
  say("no input", cuDevSmResourceSplitByCount(parts.data(), &count, nullptr, nullptr, 0, 16));
  CUdevResource const invalid{};
  split("split what is nothing", invalid, 2, 0, 16);
  split("split a part", parts[0], 2, 0, 8);

  CUdevResourceDesc description = nullptr;
  say("describe one", cuDevResourceGenerateDesc(&description, parts.data(), 1));
  say("describe two", cuDevResourceGenerateDesc(&description, parts.data(), 2));
  say("describe the whole", cuDevResourceGenerateDesc(&description, &whole, 1));
}

namespace {

/// Returns the first of two groups of 16 multiprocessors.
CUdevResource first_part() {
  std::array<CUdevResource, 2> parts{};
  CUdevResource const whole = whole_device();
  unsigned count = 2;
  cuDevSmResourceSplitByCount(parts.data(), &count, &whole, nullptr, 0, 16);
  return parts[0];
}

}  // namespace

void parts_of_parts() {
  CUdevResource const whole = whole_device();
  std::array<CUdevResource, 132> parts{};
  CUdevResource rest{};
  for (unsigned const least : {40u, 48u, 56u, 112u, 120u, 121u, 129u}) {
    split(("split by " + text(least)).c_str(), whole, 132, 0, least);
  }
  split("split with flags 8", whole, 132, 8, 16);
  unsigned count = 132;
  cuDevSmResourceSplitByCount(parts.data(), &count, &whole, &rest, 0, 8);
  split("split what 8 leaves by 8", rest, 132, 0, 8);
  split("split what 8 leaves by 12", rest, 132, 0, 12);
  split("split what 8 leaves finely", rest, 132, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING,
        2);
  count = 4;
  cuDevSmResourceSplitByCount(parts.data(), &count, &whole, &rest, 0, 16);
  split("split what four of 16 leave by 8", rest, 132, 0, 8);
}

// Each of the following calls has its own section, because an H200's driver crashed in the section
// describe_none.

void describe_none() {
  CUdevResource part = first_part();
  CUdevResourceDesc description = nullptr;
  say("describe none", cuDevResourceGenerateDesc(&description, &part, 0));
}

void describe_nothing() {
  CUdevResourceDesc description = nullptr;
  say("describe nothing", cuDevResourceGenerateDesc(&description, nullptr, 1));
}

void describe_nowhere() {
  CUdevResource part = first_part();
  say("nowhere to put it", cuDevResourceGenerateDesc(nullptr, &part, 1));
}

void wrong_descriptions() {
  CUdevResourceDesc description = nullptr;
  CUdevResource copy{};
  say("describe what is no resource", cuDevResourceGenerateDesc(&description, &copy, 1));
  CUdevResource const whole = whole_device();
  CUdevResource const part = first_part();
  std::array<CUdevResource, 2> twice = {part, part};
  say("describe one twice", cuDevResourceGenerateDesc(&description, twice.data(), 2));
  std::array<CUdevResource, 2> others{};
  unsigned count = 2;
  cuDevSmResourceSplitByCount(others.data(), &count, &whole, nullptr, 0, 16);
  std::array<CUdevResource, 2> mixed = {part, others[1]};
  say("describe parts of two splits", cuDevResourceGenerateDesc(&description, mixed.data(), 2));
}

void execution_affinity() {
  CUexecAffinityParam affinity{};
  int supported = 9;
  CUresult status = cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0);
  say("execution affinity", status, text(supported));
  say("an unknown affinity",
      cuDeviceGetExecAffinitySupport(&supported, static_cast<CUexecAffinityType>(7), 0));
  say("affinity of device 99",
      cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 99));
  say("affinity, nowhere to put it",
      cuDeviceGetExecAffinitySupport(nullptr, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
  say("affinity with none current",
      cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
  CUcontext const a = floating();
  push(a);
  status = cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT);
  say("affinity of a context", status, status ? "" : text(affinity.param.smCount.val));
  say("its unknown affinity", cuCtxGetExecAffinity(&affinity, static_cast<CUexecAffinityType>(7)));
  say("its affinity, nowhere to put it",
      cuCtxGetExecAffinity(nullptr, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
  CUexecAffinityParam wish{};
  wish.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
  wish.param.smCount.val = 16;
  CUctxCreateParams wishes{};
  wishes.execAffinityParams = &wish;
  wishes.numExecAffinityParams = 1;
  CUcontext made = nullptr;
  say("a context with an affinity", cuCtxCreate(&made, &wishes, 0, 0));
  wishes = {};
  say("a context with empty wishes", cuCtxCreate(&made, &wishes, 0, 0));
  cuCtxDestroy(made);
  CUdevResource of_context{};
  status = cuCtxGetDevResource(a, &of_context, sm);
  say("multiprocessors of a context", status, text(of_context.sm.smCount));
  say("of no context", cuCtxGetDevResource(nullptr, &of_context, sm));
  say("of a context, nowhere to put them", cuCtxGetDevResource(a, nullptr, sm));
  say("of a context, of no kind",
      cuCtxGetDevResource(a, &of_context, CU_DEV_RESOURCE_TYPE_INVALID));
  cuCtxDestroy(a);
}

}  // namespace transcript

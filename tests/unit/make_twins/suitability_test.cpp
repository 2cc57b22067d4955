// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Which kernels have no twin, and the reasons that the build prints.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "twin_texts.hpp"

namespace flotilla::make_twins {
namespace {

struct unsuitable_text {
  char const* name;
  std::string ptx;
  std::string reason;
};

constexpr char const* reads_index =
    ".func (.param .b32 result) f()\n"
    "{ .reg .b32 %r<2>; mov.u32 %r1, %ctaid.x; st.param.b32 [result], %r1; ret; }\n";
constexpr char const* harmless = ".func g() { ret; }\n";
constexpr char const* call_f =
    "\t{ .param .b32 retval0; call.uni (retval0), f, (); ld.param.b32 %r1, [retval0]; }\n";
constexpr char const* indirect_call =
    "\t{ prototype_0 : .callprototype ()_ (); call %rd1, (), prototype_0; }\n";

std::string with_parameters(std::string const& parameters, std::string const& body) {
  return std::string(header) + ".entry k(" + parameters + ") { .reg .b64 %rd<9>; " + body +
         " ret; }\n";
}

std::vector<unsuitable_text> unsuitable_texts() {
  std::string const calls = "it may call f, which reads %ctaid.x";
  return {
      {"OtherInstruction", kernel_with("\tcvt.u64.u32 %rd1, %ctaid.x;\n"),
       "it reads %ctaid.x with cvt.u64.u32"},
      {"WholeVector", kernel_with("\tmov.v4.u32 {%r1, %r2, %r3, %r4}, %nctaid;\n"),
       "it reads %nctaid with mov.v4.u32"},
      {"Halves", kernel_with("\tmov.b32 {%rs1, %rs2}, %ctaid.y;\n"),
       "it reads %ctaid.y with mov.b32"},
      {"FourthIndex", kernel_with("\tmov.u32 %r1, %ctaid.w;\n"), "it reads %ctaid.w with mov.u32"},
      {"GridId", kernel_with("\tmov.u64 %rd1, %gridid;\n"), "it reads %gridid"},
      {"ClusterId", kernel_with("\tmov.u32 %r1, %clusterid.x;\n"), "it reads %clusterid.x"},
      {"ClusterRank", kernel_with("\tmov.u32 %r1, %cluster_ctarank;\n"),
       "it reads %cluster_ctarank"},
      {"ClusterCount", kernel_with("\tmov.u32 %r1, %nclusterid.x;\n"), "it reads %nclusterid.x"},
      {"ExplicitCluster", kernel_with("\tmov.pred %p1, %is_explicit_cluster;\n"),
       "it reads %is_explicit_cluster"},
      {"Environment", kernel_with("\tmov.u32 %r1, %envreg2;\n"), "it reads %envreg2"},
      {"Graph", kernel_with("\tmov.u64 %rd1, %current_graph_exec;\n"),
       "it reads %current_graph_exec"},
      {"ReqClusterSize", kernel_with("", ".reqnctapercluster 2, 1, 1\n"),
       "it has the directive .reqnctapercluster"},
      {"ExplicitClusterDirective", kernel_with("", ".explicitcluster\n"),
       "it has the directive .explicitcluster"},
      {"MaxClusterRank", kernel_with("", ".maxclusterrank 8\n"),
       "it has the directive .maxclusterrank"},
      {"BlocksAreClusters", kernel_with("", ".reqntid 32\n.blocksareclusters\n"),
       "it has the directive .blocksareclusters"},
      {"ClusterBarrier", kernel_with("\tbarrier.cluster.arrive;\n"),
       "it uses the instruction barrier.cluster.arrive"},
      {"Mapa", kernel_with("\tmapa.u64 %rd1, %rd2, %r1;\n"), "it uses the instruction mapa.u64"},
      {"CtaRank", kernel_with("\tgetctarank.u64 %r1, %rd2;\n"),
       "it uses the instruction getctarank.u64"},
      {"SharedCluster", kernel_with("\tld.shared::cluster.u32 %r1, [%rd1];\n"),
       "it uses the instruction ld.shared::cluster.u32"},
      {"PairOfBlocks", kernel_with("\ttcgen05.fence.cta_group::2;\n"),
       "it uses the instruction tcgen05.fence.cta_group::2"},
      {"Multimem", kernel_with("\tmultimem.red.global.add.u32 [%rd1], %r1;\n"),
       "it uses the instruction multimem.red.global.add.u32"},
      {"DependentLaunch", kernel_with("\t@%p1 griddepcontrol.wait;\n"),
       "it uses the instruction griddepcontrol.wait"},
      {"ParameterAddress", kernel_with("\tmov.b64 %rd1, k_param_0;\n"),
       "it uses the address of its parameter k_param_0"},
      {"ConvertedAddress", kernel_with("\tcvta.param.u64 %rd1, k_param_1;\n"),
       "it uses the address of its parameter k_param_1"},
      {"ComputedAddress", kernel_with("\tld.param.u32 %r1, [k_param_0+%rd1];\n"),
       "it uses the address of its parameter k_param_0"},
      {"StoreToParameter", kernel_with("\tst.param.u32 [k_param_1], %r1;\n"),
       "it uses the address of its parameter k_param_1"},
      {"LargeParameters", with_parameters(".param .align 8 .b8 p[4104]", ""),
       "its parameters have 4104 bytes, more than 4096"},
      {"Texture", with_parameters(".param .texref t", ""), "its parameter t has the type .texref"},
      {"IndexInFunction", kernel_with(call_f, "", reads_index), calls},
      {"IndexInFunctionOfFunction",
       kernel_with("\tcall.uni g, ();\n", "",
                   std::string(reads_index) + ".func g() { .reg .b32 %r<2>;" + call_f + "ret; }\n"),
       calls},
      {"IndexInFunctionBehindAlias",
       kernel_with("\tcall.uni a, ();\n", "", std::string(reads_index) + ".alias a, f;\n"), calls},
      {"IndirectCall", kernel_with(indirect_call, "", reads_index), calls},
      {"IndirectCallInFunction",
       kernel_with(
           "\tcall.uni g, ();\n", "",
           std::string(reads_index) + ".func g() { .reg .b64 %rd<2>;" + indirect_call + "ret; }\n"),
       calls},
      {"GridIdInFunction",
       kernel_with("\tcall g;\n", "", ".func g { .reg .b64 %r<2>; mov.u64 %r1, %gridid; }\n"),
       "it may call g, which reads %gridid"},
      {"ClusterInFunction", kernel_with("\tcall g;\n", "", ".func g { barrier.cluster.wait; }\n"),
       "it may call g, which uses the instruction barrier.cluster.wait"},
      {"FunctionElsewhere", kernel_with("\tcall g;\n", "", ".extern .func g;\n"),
       "it may call g, which is defined elsewhere"},
      {"NameOfTwin", std::string(header) + ".entry k__flotilla_twin1() { ret; }\n",
       "it has the name of a twin"},
  };
}

class Suitability : public ::testing::TestWithParam<unsuitable_text> {};

TEST_P(Suitability, GivesTheReason) {
  module_with_twins const made = add_twins(GetParam().ptx);
  ASSERT_EQ(made.unsuitable.size(), 1u);
  EXPECT_EQ(made.unsuitable[0].reason, GetParam().reason);
  EXPECT_EQ(made.ptx, GetParam().ptx) << "without a twin, the module must not change";
}

INSTANTIATE_TEST_SUITE_P(Unsuitable, Suitability, ::testing::ValuesIn(unsuitable_texts()),
                         [](auto const& tested) { return tested.param.name; });

// The opposite of the cases above: each of these kernels has a twin.
TEST(SuitableKernel, MayCallHarmlessFunctionsAndFunctionsOfTheRuntime) {
  EXPECT_EQ(reason(kernel_with("\tcall.uni g, ();\n", "", std::string(reads_index) + harmless)),
            "");
  EXPECT_EQ(reason(kernel_with(indirect_call, "", harmless)), "");
  EXPECT_EQ(reason(kernel_with("\tcall.uni vprintf, ();\n", "", ".extern .func vprintf();\n")), "");
  EXPECT_EQ(reason(kernel_with("\tld.param.u32 %r1, [k_param_1];\n", "", reads_index)), "");
}

TEST(SuitableKernel, MayMentionForbiddenThingsInCommentsAndStrings) {
  EXPECT_EQ(reason(kernel_with("\t// %gridid\n/* barrier.cluster.wait; \n } */\n"
                               "\t.pragma \"%gridid\";\n")),
            "");
}

TEST(SuitableKernel, MayHave4096BytesOfParameters) {
  EXPECT_EQ(reason(with_parameters(".param .align 8 .b8 p[4096]", "")), "");
}

TEST(UnwantedTwin, IsNotMadeAndNotReported) {
  module_with_twins const made =
      add_twins(kernel_with("", "", ".global .align 1 .u8 flotilla_no_twin_k = 1;\n"));
  EXPECT_TRUE(made.unsuitable.empty());
  EXPECT_EQ(twin_of(made), "");
  EXPECT_NE(
      twin_of(add_twins(kernel_with("", "", ".global .align 1 .u8 flotilla_no_twin_kk = 1;\n"))),
      "");
}

TEST(DebugModule, HasNoTwinsAndOneReason) {
  std::string ptx = kernel_with("");
  ptx.replace(ptx.find("sm_80"), 5, "sm_80, debug");
  module_with_twins const made = add_twins(ptx);
  EXPECT_EQ(made.ptx, ptx);
  EXPECT_THAT(report({made}),
              ::testing::ElementsAre("no twins: the module is compiled for debugging"));
}

TEST(Report, NamesArchitecturesOnlyIfTheyDiffer) {
  module_with_twins const all{"", "sm_80", {{"k", "why"}, {"l", "old"}}};
  module_with_twins const same{"", "sm_90", {{"k", "why"}, {"l", "new"}}};
  EXPECT_THAT(report({all, same}), ::testing::ElementsAre("no twin of kernel k: why",
                                                          "no twin of kernel l for sm_80: old",
                                                          "no twin of kernel l for sm_90: new"));
}

}  // namespace
}  // namespace flotilla::make_twins

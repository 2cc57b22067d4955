// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "make_twins/ptx_version.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace flotilla::make_twins {
namespace {

// The lists hold only what PTX ISA 9.0 has. They are not complete: a module with anything else
// keeps its version, so older drivers refuse it.

constexpr std::string_view version_of_cuda_13_0 = "9.0";

constexpr std::string_view old_targets =
    " sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_100f sm_103 sm_103a "
    "sm_103f sm_110 sm_110a sm_110f sm_120 sm_120a sm_120f sm_121 sm_121a sm_121f ";

constexpr std::string_view old_types =
    " b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 pred ";

constexpr std::string_view old_directives =
    " version target address_size file loc section debug_str visible extern weak common entry func "
    "alias param reg global const shared local align ptr attribute managed pragma maxntid "
    "minnctapersm reqntid maxnreg noreturn explicitcluster reqnctapercluster maxclusterrank "
    "callprototype branchtargets ";

/// Without the digits at the end. The compiler's own registers, then those with a meaning.
constexpr std::string_view old_registers =
    " %r %rd %rs %rh %p %f %fd %h %hh %b %SP %SPL "
    "%tid.x %tid.y %tid.z %ntid.x %ntid.y %ntid.z %ctaid.x %ctaid.y %ctaid.z %nctaid.x %nctaid.y "
    "%nctaid.z %laneid %warpid %nwarpid %smid %nsmid %gridid %lanemask_eq %lanemask_le "
    "%lanemask_lt %lanemask_ge %lanemask_gt %clock %clock_hi %globaltimer %globaltimer_lo "
    "%globaltimer_hi %dynamic_smem_size %total_smem_size %is_explicit_cluster %clusterid.x "
    "%clusterid.y %clusterid.z %nclusterid.x %nclusterid.y %nclusterid.z %cluster_ctaid.x "
    "%cluster_ctaid.y %cluster_ctaid.z %cluster_nctaid.x %cluster_nctaid.y %cluster_nctaid.z "
    "%cluster_ctarank %cluster_nctarank %envreg ";

/// The modifiers of an instruction, without the types, which every instruction may have.
struct instruction {
  std::string_view names;
  std::string_view modifiers;
};
constexpr instruction old_instructions[] = {
    {" add sub ", " sat cc ftz rn rz rm rp f32x2 "},
    {" addc subc ", " cc "},
    {" mul mad madc mul24 mad24 ", " lo hi wide cc sat ftz rn rz rm rp "},
    {" fma ", " rn rz rm rp ftz sat relu f32x2 "},
    {" div rcp sqrt rsqrt sin cos lg2 ex2 tanh ", " full approx ftz rn rz rm rp "},
    {" rem sad popc clz bfind fns brev bfe bfi bmsk szext dp4a dp2a ",
     " shiftamt clamp wrap lo hi "},
    {" abs neg min max copysign ", " ftz nan relu "},
    {" testp ", " finite infinite number notanumber normal subnormal "},
    {" set setp selp slct ",
     " eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor ftz "},
    {" and or xor not cnot lop3 shf shl shr mov ", " l r wrap clamp "},
    {" prmt ", " f4e b4e rc8 ecl ecr rc16 "},
    {" ld ldu st ",
     " param global const shared local param::entry param::func shared::cta shared::cluster "
     "volatile "
     "relaxed acquire release weak cta cluster gpu sys nc ca cg cs lu cv wb wt v2 v4 "
     "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate L2::64B "
     "L2::128B L2::256B "},
    {" cvta isspacep ", " to param const global shared local shared::cta shared::cluster "},
    {" cvt ", " rni rzi rmi rpi rn rz rm rp ftz sat relu "},
    {" prefetch prefetchu ", " global local L1 L2 "},
    {" bra brx call ret exit trap brkpt nanosleep activemask ", " uni idx "},
    {" bar barrier ",
     " sync arrive wait red warp cta cluster aligned popc and or acquire release relaxed "},
    {" membar fence ", " cta gl cluster gpu sys sc acq_rel "},
    {" atom red ",
     " relaxed acquire release acq_rel cta cluster gpu sys global shared shared::cta "
     "shared::cluster and or xor cas exch add inc dec min max noftz "},
    {" shfl vote match redux elect ",
     " sync up down bfly idx all any uni ballot add min max and or xor "},
    {" mma ", " sync aligned m8n8k4 m16n8k4 m16n8k8 m16n8k16 m16n8k32 row col tf32 "},
    {" wmma ",
     " load store mma sync aligned row col m16n16k16 m8n32k16 m32n8k16 a b c d global shared "},
    {" ldmatrix ", " sync aligned m8n8 x1 x2 x4 trans shared shared::cta "},
    {" cp ",
     " async ca cg shared shared::cta global commit_group wait_group wait_all L2::64B L2::128B "
     "L2::256B "},
    {" griddepcontrol ", " launch_dependents wait "},
};

bool contains(std::string_view list, std::string_view word) {
  return !word.empty() && list.find(" " + std::string(word) + " ") != std::string_view::npos;
}

bool is_old_instruction(std::string_view opcode) {
  std::size_t dot = opcode.find('.');
  std::string_view const name = opcode.substr(0, dot);
  auto const known = std::find_if(std::begin(old_instructions), std::end(old_instructions),
                                  [&](instruction const& i) { return contains(i.names, name); });
  if (known == std::end(old_instructions)) { return false; }
  while (dot != std::string_view::npos) {
    std::size_t const next = opcode.find('.', dot + 1);
    std::string_view const modifier = opcode.substr(dot + 1, next - dot - 1);
    if (!contains(known->modifiers, modifier) && !contains(old_types, modifier)) { return false; }
    dot = next;
  }
  return true;
}

/// Whether a directive, type or register is old. Names and numbers have no version.
bool is_old_word(std::string_view word) {
  if (word.starts_with('%')) {
    std::size_t const end = word.find_last_not_of("0123456789");
    return contains(old_registers, word.substr(0, end + 1));
  }
  if (!word.starts_with('.')) { return true; }
  return contains(old_directives, word.substr(1)) || contains(old_types, word.substr(1));
}

bool is_old(ptx_module const& in) {
  if (!contains(old_targets, in.target)) { return false; }
  bool after_pragma = false;
  for (token const& t : in.tokens) {
    if (t.kind == token_kind::word && !is_old_word(t.text)) { return false; }
    if (after_pragma && !t.is("\"nounroll\"")) { return false; }
    after_pragma = t.is(".pragma");
  }
  for (function const& f : in.functions) {
    for (statement const& s : f.statements) {
      std::string_view const opcode = s.opcode.text;
      if (!opcode.starts_with('.') && !is_old_instruction(opcode)) { return false; }
    }
  }
  return true;
}

/// Returns {9, 5} for "9.5", and {0, 0} for what is no version.
std::pair<int, int> numbers(std::string_view version) {
  std::pair<int, int> read{};
  char const* const end = version.data() + version.size();
  auto const major = std::from_chars(version.data(), end, read.first);
  if (major.ptr == end || *major.ptr != '.') { return {}; }
  auto const minor = std::from_chars(major.ptr + 1, end, read.second);
  return minor.ptr == end ? read : std::pair<int, int>{};
}

}  // namespace

std::string_view oldest_version(ptx_module const& in) {
  bool const is_later = numbers(in.version) > numbers(version_of_cuda_13_0);
  return is_later && is_old(in) ? version_of_cuda_13_0 : in.version;
}

}  // namespace flotilla::make_twins

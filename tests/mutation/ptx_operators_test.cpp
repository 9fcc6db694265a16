// Checks what each operator makes of a small PTX text.
#include "ptx_operators.hpp"

#include <algorithm>
#include <vector>

#include "catch.hpp"

namespace cupilot::mutation {
namespace {

const std::string module = R"(.version 8.0
.target sm_90
.file 1 "a; bar.sync 0;"
.visible .entry k(
	.param .u64 k_param_0
)
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<9>;
	ld.param.u64 	%rd1, [k_param_0];  // bar.sync 1;
$L__BB0_1:
	st.shared.u32 	[%r1], %r2;
	bar.sync 	0;
	ld.shared.u32 	%r3, [%r4];
	mul.wide.s32 	%rd2, %r5, 4;
	add.s32 	%r6, %r6, 32;
	setp.lt.s32 	%p1, %r6, %r7;
	@%p1 bra 	$L__BB0_1;
	fence.acq_rel.gpu;
	atom.global.add.u32 	%r8, [%rd1], 1;
	ld.acquire.sys.global.u32 	%r8, [%rd1];
	.loc	1 11 3
	cp.async.wait_group 	1;
	mbarrier.try_wait.shared::cta.b64 	%p2, [%r1], %rd3;
	ret;
}
)";

std::vector<std::string> mutants_of(const std::string& name) {
  const auto all = ptx_operators();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const PtxOperator& o) { return name == o.name; });
  REQUIRE(found != all.end());
  const PtxText text(module);
  std::vector<std::string> made;
  for (const Site& site : found->sites(text)) made.push_back(apply(text.text(), site));
  return made;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("each operator finds its places in instructions alone") {
  struct Case {
    const char* name;
    std::size_t sites;
    std::vector<std::string> made;  // a text that some mutant holds and the module does not
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {"drop_order", 4, {"%r2;\n\t\n\tld.shared", "setp.eq.u32 %p2, 0, 0;"}},
      {"order_late", 2, {"[%r4]; bar.sync \t0;", "1; fence.acq_rel.gpu;"}},
      {"order_early", 2, {"bar.sync \t0; st.shared"}},
      {"narrow_index", 1, {"cvt.u32.u64 %narrow, %rd2; cvt.s64.s32 %rd2, %narrow; }"}},
      {"first_round_only", 1, {"%r7;\n\t\n\tfence"}},
      {"two_rounds_only", 1, {"setp.lt.and.u32 %more, %rounds, 2, %p1; @%more bra $L__BB0_1;"}},
      {"drop_last_round", 1, {"add.s32 %ahead, %r6, 32; setp.lt.s32 %p1, %ahead, %r7; }"}},
      {"narrow_scope",
       3,
       {"fence.acq_rel.cta;", "atom.relaxed.cta.global.add.u32", "ld.acquire.cta"}},
      {"relax_order", 1, {"ld.relaxed.sys.global"}},
      {"wait_less", 1, {"cp.async.wait_group 2;"}},
  }));
  INFO(c.name);
  const auto made = mutants_of(c.name);
  CHECK(made.size() == c.sites);
  for (const std::string& part : c.made) {
    INFO(part);
    CHECK_FALSE(holds(module, part));
    CHECK(std::any_of(made.begin(), made.end(), [&](const auto& one) { return holds(one, part); }));
  }
  for (const std::string& one : made) CHECK(holds(one, "\"a; bar.sync 0;\""));
}

}  // namespace
}  // namespace cupilot::mutation

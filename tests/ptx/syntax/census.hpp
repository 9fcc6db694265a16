// The forms of isa_census.txt, each as one whole instruction and the kernel around it.
#pragma once

#include <string>
#include <vector>

namespace support {

struct CensusForm {
  std::string text;      // "add.s32 r1, r2, r3"
  bool refused = false;  // by an operand that the virtual device lacks
};
const std::vector<CensusForm>& census();

// A kernel `name` (a tensor map, the address of a buffer, 16 bytes) that runs the form once, and
// what must stand before all kernels.
std::string census_kernel(const std::string& name, const std::string& form);
inline constexpr const char* census_head =
    ".version 9.0\n.target sm_90a\n.address_size 64\n.const .align 16 .b8 constants[256];\n"
    ".func (.param .b32 result) helper (.param .b32 argument) {\n.reg .b32 t;\nld.param.b32 t, "
    "[argument];\n"
    "st.param.b32 [result], t;\nret;\n}\n.func helper0 () {\nret;\n}\n";

}  // namespace support

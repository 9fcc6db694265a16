#include "backend/compile/source.hpp"

#include "catch.hpp"
#include "support/reached.hpp"

namespace cupilot {
namespace {

std::string code_of(std::string_view text, std::vector<std::string> allowed = {}) {
  const auto refused = check_source(text, allowed);
  return refused ? refused->code : "";
}

TEST_CASE("Sources that read files are refused however they are spelt") {
  const std::string text = GENERATE(
      as<std::string>(),  //
      "#include \"/etc/passwd\"\n", "#include </proc/self/environ>\n", "  #  include <x>\n",
      "#/* c */include <x>\n", "/* c */ #include <x>\n", "#inc\\\nlude <x>\n",
      "#\\\n include <x>\n", "#inc\\  \nlude <x>\n", "%:include <x>\n", "#import <x>\n",
      "#include_next <x>\n", "#embed \"/dev/zero\"\n", "#define F <x>\n#include F\n",
      "#if 0\n#include <x>\n#endif\n", "#if __has_include(\"/etc/shadow\")\n#endif\n",
      "#ifdef __has_embed\n#endif\n", "// a \\\n comment\n#include <x>\n",
      "const char* s = \"/*\";\n#include <x>\n", "char c = '\"';\n#include <x>\n",
      "const char* s = \"\\\\\";\n#include <x>\n", "auto s = R\"x(*/)\" )x\";\n#include <x>\n",
      "int \xc3\xa9R\"(\" ;\n#include <x>\n// )\"\n", "int \\u00e9R\"(\" ;\n#include <x>\n// )\"\n",
      "int n = 1'000;\n#include <x> // '\n", "#if 0\n don't\n#endif\n#include <x>\n");
  INFO(text);
  testing::expect_code(code_of(text), "gate.include");
}

TEST_CASE("Sources that only speak of includes pass") {
  const std::string text = GENERATE(
      as<std::string>(),  //
      "// #include <x>\nint a;\n", "/*\n#include <x>\n*/\n", "// splice \\\n#include <x>\n",
      "const char* s = \"\\\n#include <x>\\\n\";\n", "auto s = R\"(\n#include <x>\n)\";\n",
      "auto s = R\"asm(\n#include <x> )\" \n)asm\";\n", "int a = b # include;\n",
      "#define include 1\n", "#pragma unroll 4\n", "int __has_include_more;\n", "", "\n", "\\");
  INFO(text);
  CHECK(code_of(text).empty());
}

TEST_CASE("An allowed include passes, its neighbour does not") {
  const std::vector<std::string> allowed = {"cuda_bf16.h"};
  CHECK(code_of("#include <cuda_bf16.h>\n", allowed).empty());
  CHECK(code_of("#include \"cuda_bf16.h\"\n", allowed).empty());
  testing::expect_code(code_of("#include <cuda_fp16.h>\n", allowed), "gate.include");
  testing::expect_code(code_of("#include <../cuda_bf16.h>\n", allowed), "gate.include");
  testing::expect_code(code_of("#embed \"cuda_bf16.h\"\n", allowed), "gate.include");
}

TEST_CASE("Size, line and nesting caps") {
  CHECK(code_of(std::string(256 << 10, '\n')).empty());
  testing::expect_code(code_of(std::string((256 << 10) + 1, '\n')), "gate.source_size");
  CHECK(code_of(std::string(64 << 10, 'a')).empty());
  testing::expect_code(code_of(std::string((64 << 10) + 1, 'a')), "gate.source_size");
  CHECK(code_of(std::string(200, '(')).empty());
  testing::expect_code(code_of(std::string(201, '(')), "gate.source_size");
  CHECK(code_of("\"" + std::string(300, '(') + "\"").empty());
  testing::expect_code(code_of(std::string_view("int a;\0int b;", 13)), "gate.source_size");
}

TEST_CASE("A refusal names the line") {
  const auto refused = check_source("int a;\n/* two\nlines */ int b;\n#include <x>\n");
  REQUIRE(refused);
  CHECK(refused->where == "kernel.cu:4");
  CHECK(refused->message.find("x") != std::string::npos);
  const auto of_header = check_source("#line 1 \"mine.cuh\"\nint a;\n#include <x>\n");
  REQUIRE(of_header);
  CHECK(of_header->where == "mine.cuh:2");
}

}  // namespace
}  // namespace cupilot

// Labelled, wrapped lines of the screens of `verify` and `profile`, and lines of the user's own
// file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_files.hpp"

namespace cupilot::cli {

// Text under a label, at most `most` lines; the last of more ends in dots.
void put(std::string& screen, std::string_view label, std::string_view text, std::size_t most = 1);
// Sentences of at most two lines each, `most` lines in all; those left out are counted.
void put_all(std::string& screen, std::string_view label, const std::vector<std::string>& sentences,
             std::size_t most);

std::string file_name(const std::string& path);
// The first number after `word` in a place such as "ptx line 226 (ld.shared.u32), kernel.cu:19"; 0:
// none.
int number_after(std::string_view where, std::string_view word);
// Line `number` of a text, without its indent; control characters become blanks.
std::string line_of(std::string_view text, int number);
// "kernel.cu:19", or "ptx line 19" of a kernel in PTX, is a line of the kernel's text, in which the
// file's `// cupilot:` lines are left out.
std::string in_the_file(const OwnKernel& kernel, std::string text);

}  // namespace cupilot::cli

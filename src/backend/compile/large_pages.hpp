// A loaded library on large pages: what is forked afterwards maps each 2 MiB of it at once, where
// it met a page fault for every few 4 KiB pages of a file, and its code takes fewer entries of the
// processor's page tables.
#pragma once

#include <cstddef>
#include <string>

namespace cupilot {

// Copies what is read or run of the library loaded from `path` to anonymous memory in large pages,
// in its own place. No other thread may run. Does nothing where the machine has no such pages or
// forbids code outside files (SELinux's execmem). Returns bytes moved.
std::size_t use_large_pages(const std::string& path);

}  // namespace cupilot

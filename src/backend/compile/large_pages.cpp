#include "backend/compile/large_pages.hpp"

#include <cstdint>
#include <cstring>
#include <fstream>

#include <link.h>
#include <sys/mman.h>

namespace cupilot {
namespace {

constexpr std::uintptr_t large_page = 2u << 20;

struct Moving {
  const std::string* path;
  std::size_t moved;
};

bool has_large_pages() {
  std::string state;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), state);
  return !state.empty() && state.find("[never]") == std::string::npos;
}

// `size` bytes from a large page's boundary on, in large pages; null: there are none.
char* large_pages(std::size_t size) {
  void* whole =
      mmap(nullptr, size + large_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(whole);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % large_page;
  if (before > 0) munmap(begin, before);
  begin += before;
  munmap(begin + size, large_page - before);
  if (madvise(begin, size, MADV_HUGEPAGE) == 0) return begin;
  munmap(begin, size);
  return nullptr;
}

// Moves the large pages' worth within [begin, end).
std::size_t remap(std::uintptr_t begin, std::uintptr_t end, int protection) {
  begin = (begin + large_page - 1) / large_page * large_page;
  end = end / large_page * large_page;
  if (end <= begin) return 0;
  const std::size_t size = end - begin;
  char* copy = large_pages(size);
  if (copy == nullptr) return 0;
  void* place = reinterpret_cast<void*>(begin);
  std::memcpy(copy, place, size);
  if (mprotect(copy, size, protection) == 0 &&
      mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED) {
    return size;
  }
  munmap(copy, size);
  return 0;
}

int visit(dl_phdr_info* library, std::size_t, void* argument) {
  auto& moving = *static_cast<Moving*>(argument);
  if (*moving.path != library->dlpi_name) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& part = library->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0 || (part.p_flags & PF_R) == 0)
      continue;
    const std::uintptr_t begin = library->dlpi_addr + part.p_vaddr;
    moving.moved += remap(begin, begin + part.p_filesz,
                          PROT_READ | ((part.p_flags & PF_X) != 0 ? PROT_EXEC : 0));
  }
  return 1;
}

}  // namespace

std::size_t use_large_pages(const std::string& path) {
  if (!has_large_pages()) return 0;
  Moving moving{&path, 0};
  dl_iterate_phdr(visit, &moving);
  return moving.moved;
}

}  // namespace cupilot

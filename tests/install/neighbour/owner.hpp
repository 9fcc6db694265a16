// Ends the program when a function of one of its own libraries is called by another library.
#pragma once

#include <cstdio>
#include <cstdlib>

inline bool called_by_owner = false;

inline void only_the_owner(const char* function) {
  if (called_by_owner) return;
  std::printf("%s of the program was called by a library\n", function);
  std::fflush(stdout);
  std::_Exit(3);
}

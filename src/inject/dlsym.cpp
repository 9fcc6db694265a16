// dlsym as programs see it. RTLD_NEXT means what comes after the caller, which the loader tells by
// the address that dlsym returns to: the real one is entered by a jump.
#include <cstdint>

#include "inject/driver.hpp"

extern "C" {

__attribute__((visibility("hidden"))) void* cupilot_inject_shown(void* handle, const char* name);

// The address of the loader's own.
__attribute__((visibility("hidden"))) void* cupilot_inject_dlsym() {
  return cupilot::inject::real_dlsym_address();
}

#ifdef __x86_64__
asm(R"(
  .text
  .globl dlsym
  .type dlsym, @function
dlsym:
  pushq %rdi
  pushq %rsi
  subq $8, %rsp
  call cupilot_inject_shown
  testq %rax, %rax
  jnz 1f
  call cupilot_inject_dlsym
  addq $8, %rsp
  popq %rsi
  popq %rdi
  jmpq *%rax
1:
  addq $24, %rsp
  ret
  .size dlsym, .-dlsym
)");
#else
__attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) {
  void* const shown = cupilot_inject_shown(handle, name);
  return shown != nullptr ? shown : cupilot::inject::real_dlsym(handle, name);
}
#endif

}  // extern "C"

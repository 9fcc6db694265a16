#define CUPILOT_LANES_NAME avx512
#define CUPILOT_LANES_FUNCTION avx512_rows
#include "ptx/lanes/tables.inc"

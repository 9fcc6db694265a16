#define CUPILOT_LANES_NAME avx2
#define CUPILOT_LANES_FUNCTION avx2_rows
#include "ptx/lanes/tables.inc"

// llm.c's setup_main() names cuBLAS; nothing here calls it, and the programs stay small.
#pragma once
#include <cublasLt.h>
#include <cublas_v2.h>
extern "C" {
cublasStatus_t CUBLASWINAPI cublasCreate_v2(cublasHandle_t*) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t CUBLASWINAPI cublasSetMathMode(cublasHandle_t, cublasMath_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasLtCreate(cublasLtHandle_t*) { return CUBLAS_STATUS_SUCCESS; }
}

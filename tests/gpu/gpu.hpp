// What the GPU tests share: one backend, and small kernels with their launch plans.
#pragma once

#include <string>
#include <vector>

#include <cupilot/backend.hpp>

#include "support/gemm.hpp"

namespace gpu {

cupilot::Backend& backend();

cupilot::Task gemm(const cupilot::GemmSpec& spec);
cupilot::Workload shape(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1);

// fp32, nn, one thread an element of a 16 x 16 tile; `body` may replace what happens to the sum `s`
// of element (r, c).
cupilot::CompiledKernel simple_sgemm(
    const std::string& body = "if (r < m && c < n) D[(long long)r * n + c] = s;");
// Its text.
std::string sgemm_text(const std::string& body);
// A kernel that no gate looked at, `grid` as in a plan (empty: 16 x 16 tiles): what the device
// itself makes of it.
cupilot::CompiledKernel ungated(const std::string& text, const std::vector<std::string>& grid);
// The plan of simple_sgemm over any text with an entry `k(const float* A, const float* B, float* D,
// int m, int n, int k)`.
cupilot::CompiledKernel with_plan(const std::string& text);

cupilot::CaseReport prove(const cupilot::Task& task, const cupilot::CompiledKernel& kernel,
                          const cupilot::Case& what);
// Codes of all faults, joined by spaces.
std::string faults(const cupilot::CaseReport& report);
bool good(const cupilot::CaseReport& report);

// Kills this process's workers of a role; how many there were.
int kill_worker(const std::string& role);
// One JSON line of text members to the file that CUPILOT_GPU_NOTES names, if any.
void note(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace gpu

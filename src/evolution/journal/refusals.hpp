// The first refusal of each code, with the line of the user's own file that it is about.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/evolve.hpp>
#include <cupilot/family.hpp>
#include <cupilot/parts/host.hpp>

#include "evolution/journal/records.hpp"

namespace cupilot {

// A candidate's, as a journal has it: without the kernel's text.
struct FirstRefusal {
  std::uint64_t candidate = 0;
  std::string setting, template_name, kernel_id;
  Rejected why;
};
using FirstRefusals = std::map<std::string, FirstRefusal>;  // by code

// Keeps it where its code is new, or the candidate came earlier. Whether the code is new.
bool keep_first(FirstRefusals& all, FirstRefusal refusal);
FirstRefusal first_refusal(const Candidate& candidate);

// A template of the user's own: a file, or a text of a family. A family's device header has the
// name that templates include it by, "cupilot/NAME.cuh".
struct OwnTemplate {
  std::string name, path, text;
};
using OwnTemplates = std::vector<OwnTemplate>;

// `shown`: paths that are told; `read`: where their texts are.
OwnTemplates own_templates(const std::vector<std::string>& shown,
                           const std::vector<std::string>& read, const Families& families);

// With the place in the user's file, or else in the kernel's text ("": it is not had).
Refusal explained(const FirstRefusal& refusal, std::string_view text, const OwnTemplates& own);

// Explains refusals of a run directory that keeps kernels' texts, in slot order.
std::vector<Refusal> explained(const FirstRefusals& all, Host& host, const std::string& run_dir,
                               const OwnTemplates& own);

// "#7 (gelu 4x64) plan.expression: `h-2`, column 1: …; gelu.cu:12: "grid": ["h-2"]".
std::string sentence(const Refusal& refusal);

}  // namespace cupilot

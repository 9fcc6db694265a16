// `cupilot task new`: a task of one's own that can be searched as it stands, to be changed from
// there.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <cupilot/parts/tunable.hpp>
#include <cupilot/task.hpp>

#include "commands/verbs.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {
namespace {

namespace fs = std::filesystem;

// NAME and FAMILY are replaced.
constexpr const char* task_json = R"({
  "cupilot_task": 1,
  "name": "NAME", "family": "FAMILY",
  "axes": [{"name": "rows"}, {"name": "cols"}],
  "tensors": [
    {"name": "x", "role": "in", "type": "fp32", "shape": ["rows", "cols"]},
    {"name": "w", "role": "in", "type": "fp32", "shape": ["cols"]},
    {"name": "y", "role": "out", "type": "fp32", "shape": ["rows", "cols"], "check": {"kind": "within", "length": 1}}
  ],
  "precision": "fp32-strict",
  "time_shapes": [{"sizes": {"rows": 1024, "cols": 1024}}],
  "check_shapes": [{"sizes": {"rows": 1, "cols": 1}}, {"sizes": {"rows": 5, "cols": 127}}],
  "work": {"flops": "rows*cols"},
  "reference": "reference.cu"
}
)";

constexpr const char* reference_cu =
    R"(// One element of y, obviously right: every column of x has a weight of its own. docs/formats/task.md says what `in` holds.
__device__ real reference_y(const Inputs& in, long long index) { return in.x(index) * in.w(index % in.cols); }
)";

constexpr const char* tunable_cu = R"cu(/* cupilot tunable 1
{
  "name": "NAME_rows",
  "family": "FAMILY",
  "summary": "a block takes some rows of a strip of columns; a thread loads its weights once",
  "parameters": {
    "THREADS": {"domain": [32, 64, 128, 256, 512], "plain": 128},
    "ROWS": {"domain": [1, 2, 4, 8, 16, 32]},
    "COLS": {"domain": [1, 2, 4]}
  },
  "restrict": ["ROWS * COLS <= 64"],
  "plan": {
    "launches": [
      {"entry": "weigh_columns", "grid": ["cdiv(cols, THREADS * COLS)", "cdiv(rows, ROWS)"], "block": ["THREADS"],
       "args": ["x", "w", "y", {"i64": "rows"}, {"i64": "cols"}]}
    ]
  }
}
*/
// y[r][c] = x[r][c] w[c]. The parameters above are constants here; T_x is the type of tensor x.
extern "C" __global__ void __launch_bounds__(THREADS)
    weigh_columns(const T_x* x, const T_w* w, T_y* y, long long rows, long long cols) {
  const long long first = static_cast<long long>(blockIdx.y) * ROWS;
#pragma unroll
  for (int i = 0; i < COLS; ++i) {
    const long long c = (static_cast<long long>(blockIdx.x) * COLS + i) * THREADS + threadIdx.x;
    if (c >= cols) return;
    const float weight = to_float(w[c]);
#pragma unroll
    for (int j = 0; j < ROWS; ++j) {
      const long long r = first + j;
      if (r < rows) y[r * cols + c] = from_float<T_y>(to_float(x[r * cols + c]) * weight);
    }
  }
}
)cu";

std::string filled(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

bool is_lower_name(const std::string& word) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return !word.empty() && word.size() <= 48 && letter(word[0]) &&
         std::all_of(word.begin(), word.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Result<void> write_all(const fs::path& folder, const std::string& name, const std::string& family) {
  std::error_code code;
  if (fs::exists(folder, code)) {
    return Error{ErrorCode::usage, folder.string() + ": is there already",
                 "choose another name; nothing was changed"};
  }
  const std::pair<const char*, const char*> files[] = {
      {"task.json", task_json}, {"reference.cu", reference_cu}, {"tunable.cu", tunable_cu}};
  fs::create_directories(folder, code);
  for (const auto& [file, text] : files) {
    std::ofstream out(folder / file, std::ios::binary);
    out << filled(filled(text, "NAME", name), "FAMILY", family);
    out.close();
    if (!out)
      return Error{ErrorCode::failure, (folder / file).string() + ": cannot be written",
                   "check the folder's permissions"};
  }
  return {};
}

}  // namespace

int task_new_command(const TaskFlags& flags) {
  const std::string family = flags.family.empty() ? flags.name : flags.family;
  for (const std::string& word : {flags.name, family}) {
    if (is_lower_name(word)) continue;
    return fail(Error{ErrorCode::usage, "'" + word + "' is no name of a task or family",
                      "use lower-case letters, digits and '_', at most 48"},
                false);
  }
  if (const Result<void> written = write_all(flags.name, flags.name, family); !written)
    return fail(written.error(), false);
  const std::string folder = flags.name + "/";
  say(
      fmt::format("{0}task.json: what to compute, on which shapes, how exactly\n{0}reference.cu: "
                  "one element, obviously right\n"
                  "{0}tunable.cu: a kernel with parameters to search\n"
                  "next: cupilot task check {0}task.json --device virtual:h200\n"
                  "      cupilot evolve {0}task.json --tunable {0}tunable.cu --device virtual:h200",
                  folder));
  return 0;
}

}  // namespace cupilot::cli

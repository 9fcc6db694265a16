#include <fmt/format.h>

#include <algorithm>

#include <cupilot/backend.hpp>
#include <cupilot/evolve.hpp>
#include <cupilot/parts/contestants.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "kernel_files.hpp"
#include "screens/json_out.hpp"
#include "screens/median.hpp"
#include "screens/say.hpp"

namespace cupilot::cli {
namespace {

BenchRow row_of(const SubjectReport& report) {
  BenchRow row;
  row.name = report.name;
  if (report.measurement) {
    const Measurement& m = *report.measurement;
    row.time_us = m.time_us;
    row.spread_us = m.spread_us;
    row.rounds = m.provenance == Provenance::measured ? static_cast<int>(m.samples_us.size()) : 0;
    row.ratio = median(report.ratio);
    row.provenance = name_of(m.provenance);
  } else {
    row.refused = report.measurement.is_rejected() ? report.measurement.rejected().code + ": " +
                                                         report.measurement.rejected().message
                                                   : report.measurement.error().message;
  }
  return row;
}

Result<std::vector<Subject>> baselines(const std::vector<std::string>& against, const Task& task) {
  std::vector<Subject> all;
  for (const std::string& name : against) {
    if (name == "cublaslt") {
      all.push_back({Subject::Kind::library, library_name(task), nullptr});
    } else if (name == "plain") {
      all.push_back({Subject::Kind::plain, name, nullptr});
    } else if (is_contestant(name)) {
      all.push_back({Subject::Kind::contestant, name, nullptr});
    } else {
      return Error{ErrorCode::usage, "--against " + name + ": unknown",
                   "known: cublaslt, plain, and the contestants of `cupilot evolve --help`"};
    }
  }
  return all;
}

// Only proven kernels are timed; a refused one stands in the table with its reason.
struct Entrants {
  std::vector<std::string> names;
  std::vector<CompiledKernel> kernels;
  std::vector<BenchRow> refused;
};

Result<Entrants> prove(const std::vector<OwnKernel>& files, Backend& backend, std::uint64_t seed) {
  Result<std::unique_ptr<Backend>> screen = open_screen(backend, backend_options());
  if (!screen) return screen.error();
  Entrants entrants;
  for (const OwnKernel& file : files) {
    const Pipe pipe{TaskRef(*files.front().task), &backend, nullptr, seed, screen->get()};
    const Result<Candidate> candidate = evaluate_source(pipe, file.source, ProofLevel::elite);
    if (!candidate) return candidate.error();
    if (const auto* rejected = std::get_if<Rejected>(&candidate->outcome)) {
      entrants.refused.push_back(
          {file.path, 0, 0, 0, "", rejected->code + ": " + rejected->message});
      continue;
    }
    Attempt<CompiledKernel> compiled = backend.compile(file.source, Fresh::yes);
    if (!compiled)
      return Error{ErrorCode::failure, file.path + ": compiled once, then not again",
                   "run it again"};
    entrants.names.push_back(file.path);
    entrants.kernels.push_back(std::move(*compiled));
  }
  return entrants;
}

void print_rows(const std::vector<BenchRow>& rows, const std::string& device) {
  std::vector<std::vector<std::string>> cells = {
      {"kernel", "time", "spread", "ratio to first", "how"}};
  for (const BenchRow& row : rows) {
    if (row.refused.empty()) {
      cells.push_back({row.name, time_text(row.time_us),
                       row.rounds == 1 ? "one round" : time_text(row.spread_us),
                       fmt::format("{:.3f}", row.ratio), row.provenance});
    } else {
      cells.push_back({row.name, "refused", "", "", row.refused});
    }
  }
  say(table(cells));
  say("on " + device + ", cold L2, interleaved");
}

Result<std::vector<OwnKernel>> open_all(const KernelFlags& flags, const DeviceSpec& device) {
  std::vector<OwnKernel> files;
  for (const std::string& path : flags.files) {
    Result<OwnKernel> kernel = open_kernel(path, flags, device);
    if (!kernel) return kernel.error();
    if (!kernel->task) {
      return Error{ErrorCode::usage, path + ": no task stated",
                   "say it with --task, or in the file's `// cupilot:` header"};
    }
    if (!files.empty() && task_id(*files.front().task) != task_id(*kernel->task)) {
      return Error{ErrorCode::usage, path + ": another task than " + files.front().path,
                   "time kernels of one task at a time"};
    }
    files.push_back(std::move(*kernel));
  }
  return files;
}

Result<std::vector<BenchRow>> time_all(const Task& task, Backend& backend, const Entrants& entrants,
                                       const std::vector<Subject>& others,
                                       const KernelFlags& flags) {
  std::vector<Subject> contestants;
  for (std::size_t i = 0; i < entrants.kernels.size(); ++i) {
    contestants.push_back({Subject::Kind::candidate, entrants.names[i], &entrants.kernels[i]});
  }
  contestants.insert(contestants.end(), others.begin(), others.end());
  std::vector<BenchRow> rows;
  if (!contestants.empty()) {
    MeasureOptions options;
    options.rounds = flags.rounds;
    options.max_seconds = 60;
    options.seed = flags.seed;
    const auto reports =
        backend.measure(TaskRef(task), task.time_shapes.front(), contestants, options);
    if (!reports) return reports.error();
    for (const SubjectReport& report : *reports) rows.push_back(row_of(report));
  }
  rows.insert(rows.end(), entrants.refused.begin(), entrants.refused.end());
  return rows;
}

}  // namespace

int bench_command(const KernelFlags& flags) {
  const Ticker waiting = tell_waits("proving and timing");
  const Result<std::unique_ptr<Backend>> backend =
      open_proving_device(flags.common.device, "bench");
  if (!backend) return fail(backend.error(), flags.common.json);
  const Result<std::vector<OwnKernel>> files = open_all(flags, (*backend)->device());
  if (!files) return fail(files.error(), flags.common.json);
  const Result<std::vector<Subject>> others = baselines(flags.against, *files->front().task);
  if (!others) return fail(others.error(), flags.common.json);
  const Result<Entrants> entrants = prove(*files, **backend, flags.seed);
  if (!entrants) return fail(entrants.error(), flags.common.json);
  const Result<std::vector<BenchRow>> rows =
      time_all(*files->front().task, **backend, *entrants, *others, flags);
  if (!rows) return fail(rows.error(), flags.common.json);
  if (flags.common.json) {
    say(bench_json(*rows, (*backend)->identity()));
  } else {
    print_rows(*rows, (*backend)->identity());
  }
  return entrants->refused.empty() ? 0 : static_cast<int>(ErrorCode::refused);
}

}  // namespace cupilot::cli

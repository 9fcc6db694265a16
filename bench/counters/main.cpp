// Counts of the virtual device against an H200's performance monitors.
//
//   counters device OUT.json GROUP                                      on the GPU: every launch by
//   CUPTI counters virtual OUT.json GROUP                                     the same launches
//   interpreted counters compare OUT.json GROUP HARDWARE.json DIFFERENCES.json      both; exit 1
//   when they differ without a known reason
//
//   counters full OUT.json works                                        counts at full size against
//   whole runs counters traffic OUT.json big HARDWARE.json                         L2 and DRAM
//   bytes as estimated counters known OUT.json                                             on the
//   GPU: launches of known work; exit 8 beyond 1 % counters settle OUT.json on the GPU: rates in
//   windows of 50 ms; nothing is counted counters stalls OUT.json on the GPU: warps that wait for
//   one thing; exit 8 if not
//
// Groups: works, probes, products, big.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cupilot/verdict.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "backend/wire/counter_metrics.hpp"
#include "hardware.hpp"

namespace {

using namespace counters;
using nlohmann::json;

// Beyond the table: what tells why two counts differ.
const std::vector<std::string> details = {
    "smsp__inst_executed_pipe_tensor_op_hmma.sum",
    "smsp__inst_executed_pipe_tensor_op_gmma.sum",
    "smsp__sass_thread_inst_executed_op_integer_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum",
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
    "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
    "smsp__inst_executed_op_ldgsts.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",
    "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum",
    "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_red.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_cmd_read.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_cmd_write.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_dshared_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_dshared_op_st.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum",
    "lts__t_sectors_op_read_lookup_miss.sum",
};

std::vector<std::string> all_metrics() {
  std::vector<std::string> all;
  for (const MetricTerm& term : counter_metrics("GH100")) {
    if (std::find(all.begin(), all.end(), term.metric) == all.end()) all.emplace_back(term.metric);
  }
  for (const std::string& metric : details) {
    if (std::find(all.begin(), all.end(), metric) == all.end()) all.push_back(metric);
  }
  return all;
}

// On all cores, in order; what cannot be made is told.
std::vector<BenchSubject> make(const std::vector<std::function<Result<BenchSubject>()>>& makers) {
  std::vector<std::optional<BenchSubject>> made(makers.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < makers.size(); i = next++) {
      Result<BenchSubject> subject = makers[i]();
      if (subject) {
        made[i] = std::move(*subject);
      } else {
        std::cerr << "left out: " + subject.error().message + "\n";
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
    threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::vector<BenchSubject> all;
  for (auto& one : made) {
    if (one) all.push_back(std::move(*one));
  }
  return all;
}

using Makers = std::vector<std::function<Result<BenchSubject>()>>;

Makers group_of(CompilePool& pool, const std::string& group) {
  return group == "works"      ? works(pool, false)
         : group == "big"      ? works(pool, true)
         : group == "probes"   ? probes(pool)
         : group == "products" ? product_probes(pool)
                               : Makers{};
}

// The machine code of each subject, for nvdisasm, where CUPILOT_CUBINS names a folder.
void keep_cubins(const std::vector<BenchSubject>& subjects) {
  const char* folder = std::getenv("CUPILOT_CUBINS");
  for (std::size_t i = 0; folder != nullptr && i < subjects.size(); ++i) {
    std::string name = subjects[i].name.substr(0, 100);
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    std::ofstream(std::string(folder) + "/" + name + "_" + std::to_string(i) + ".cubin",
                  std::ios::binary)
        .write(reinterpret_cast<const char*>(subjects[i].cubin.data()),
               static_cast<std::streamsize>(subjects[i].cubin.size()));
  }
}

int count_device(CompilePool& pool, const std::string& path,
                 const std::vector<BenchSubject>& subjects) {
  const std::vector<std::string> metrics = all_metrics();
  keep_cubins(subjects);
  Result<HardwareRun> run = count_on_device(subjects, pool, metrics);
  if (!run) {
    std::cerr << run.error().message << "\n";
    return 1;
  }
  std::cerr << run->rows.size() << " launches, " << run->passes << " passes, " << run->seconds
            << " s\n";
  json rows = json::array();
  for (const HardwareRow& row : run->rows)
    rows.push_back({{"subject", row.subject}, {"label", row.label}, {"values", row.values}});
  std::ofstream(path) << json{{"chip", run->chip},
                              {"passes", run->passes},
                              {"seconds", run->seconds},
                              {"metrics", metrics},
                              {"rows", rows}}
                             .dump()
                      << "\n";
  return 0;
}

json interpret(BenchSubject& subject, const Order& order) {
  const auto begin = std::chrono::steady_clock::now();
  json row = {{"subject", subject.name}, {"label", order.label}};
  Attempt<ptx::ProgramPtr> program = ptx::make_program(subject.module, order.entry);
  if (!program) {
    row["fault"] = program.is_rejected() ? program.rejected().message : program.error().message;
    return row;
  }
  ptx::ExecuteOptions options;
  options.check_races = options.check_initialised = !subject.probe;
  const ptx::Launch& l = order.launch;
  const DeviceSpec spec = *chip("h200");
  const int threads = static_cast<int>(l.block.x * l.block.y * l.block.z);
  options.resident = static_cast<std::uint32_t>(
      spec.sms *
      std::max(1, resident_blocks(spec, threads, static_cast<int>(l.registers), l.dynamic_shared)));
  const Attempt<ptx::Report> report =
      ptx::execute(**program, *subject.memory, order.launch, options);
  if (!report || !report->faults.empty()) {
    row["fault"] = !report
                       ? (report.is_rejected() ? report.rejected().message : report.error().message)
                       : report->faults[0].message;
    return row;
  }
  for (std::size_t c = 0; c < counter_count; ++c)
    row[std::string(name_of(static_cast<Counter>(c)))] = report->counts.all[c].value;
  std::map<std::string, double> opcodes;  // thread instructions of each form
  for (const ptx::LineCount& line : report->lines) {
    const ptx::Function& f = subject.module->functions[line.function];
    const ptx::Form& form = subject.module->form(f.instructions[line.instruction]);
    std::string name(ptx::name_of(form.opcode));
    for (const ptx::Type t : form.types) name += "." + std::string(ptx::name_of(t));
    opcodes[name] += static_cast<double>(line.threads);
  }
  row["opcodes"] = opcodes;
  row["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return row;
}

int count_virtual(const std::string& path, std::vector<BenchSubject>& subjects) {
  json out = json::array();
  for (BenchSubject& subject : subjects) {
    for (const Order& order : subject.orders) out.push_back(interpret(subject, order));
  }
  std::ofstream(path) << json{{"rows", out}}.dump() << "\n";
  return 0;
}

// One launch a line.
void write_rows(const std::string& path, json head, const json& launches) {
  std::string text = head.dump();
  text.back() = ',';
  text += "\n\"launches\": [";
  for (std::size_t i = 0; i < launches.size(); ++i)
    text += (i == 0 ? "\n" : ",\n") + launches[i].dump();
  std::ofstream(path) << text << "\n]}\n";
}

// Counts at full size, from samples and smaller runs, against the whole run: whether the interval
// holds the truth.
int check_intervals(const std::string& path, std::vector<BenchSubject>& subjects) {
  json launches = json::array();
  int held = 0, missed = 0, guessed = 0;
  for (BenchSubject& subject : subjects) {
    const auto full = subject.at_full_size();
    if (!full) {
      std::cerr << subject.name << ": "
                << (full.is_rejected() ? full.rejected().message : full.error().message) << "\n";
      continue;
    }
    const std::size_t before = full->size() - subject.orders.size();  // clearing of buffers
    for (std::size_t i = 0; i < subject.orders.size(); ++i) {
      const json truth = interpret(subject, subject.orders[i]);
      json out = {{"kernel", subject.name}, {"launch", subject.orders[i].label}};
      for (std::size_t c = 0; c < counter_count; ++c) {
        const Count& count = (*full)[before + i].counts.all[c];
        const auto name = std::string(name_of(static_cast<Counter>(c)));
        if (count.how == CountHow::unknown || count.how == CountHow::estimated ||
            !truth.contains(name))
          continue;
        const double value = truth[name];
        const bool inside = count.low <= value * (1 + 1e-9) && value <= count.high * (1 + 1e-9);
        if (count.how != CountHow::exact) ++guessed;
        (inside ? held : missed) += 1;
        if (count.how == CountHow::exact && inside) continue;
        out["counts"][name] = {value, count.value, count.low, count.high, name_of(count.how)};
        if (!inside) out["missed"].push_back(name);
      }
      if (out.contains("missed")) std::cerr << out.dump() << "\n";
      launches.push_back(std::move(out));
    }
  }
  std::cerr << held << " hold the truth, " << missed << " miss it; " << guessed
            << " were not exact\n";
  write_rows(path,
             {{"counts", "[truth, value, low, high, how]"},
              {"held", held},
              {"missed", missed},
              {"not_exact", guessed}},
             launches);
  return missed == 0 ? 0 : 1;
}

// What is compared, and how far the two may lie apart.
struct Compared {
  const char* name;
  std::vector<Counter> counters;  // their sum
  double tolerance;               // 0: for information
};
const std::vector<Compared> compared = {
    {"flops_fp64", {Counter::flops_fp64}, 0.01},
    {"flops_fp32", {Counter::flops_fp32}, 0.01},
    {"flops_fp16",
     {Counter::flops_fp16},
     0},  // the monitors count constants that the assembler makes by HFMA2
    {"ops_tensor",
     {Counter::ops_tensor_bf16, Counter::ops_tensor_fp16, Counter::ops_tensor_tf32,
      Counter::ops_tensor_fp8, Counter::ops_tensor_int8},
     0.01},
    {"global_load_sectors", {Counter::global_load_sectors}, 0.03},
    {"global_store_sectors", {Counter::global_store_sectors}, 0.03},
    {"atomic_sectors", {Counter::atomic_sectors}, 0.03},
    {"shared_wavefronts",
     {Counter::shared_load_wavefronts, Counter::shared_store_wavefronts},
     0.01},
    {"warp_instructions", {Counter::warp_instructions}, 0},
};

double hardware_count(const json& metrics, const json& values, const std::string& chip,
                      const Compared& what) {
  double sum = 0;
  for (const MetricTerm& term : counter_metrics(chip)) {
    if (std::find(what.counters.begin(), what.counters.end(), term.counter) == what.counters.end())
      continue;
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      if (metrics[m] == term.metric) sum += term.factor * values[m].get<double>();
    }
  }
  return sum;
}

// L2 and DRAM bytes as estimated against the monitors, in rows of [value, low, high, hardware].
int check_traffic(const std::string& path, std::vector<BenchSubject>& subjects,
                  const std::string& hardware_path) {
  const json hardware = json::parse(std::ifstream(hardware_path));
  json launches = json::array();
  int held = 0, missed = 0;
  std::size_t at = 0;
  for (BenchSubject& subject : subjects) {
    const auto full = subject.at_full_size();
    for (std::size_t i = 0; i < subject.orders.size(); ++i) {
      const json& row = hardware.at("rows").at(at++);
      if (!full || row.at("subject") != subject.name) continue;
      json out = {{"kernel", subject.name}, {"launch", subject.orders[i].label}};
      for (const Counter c :
           {Counter::l2_bytes, Counter::dram_read_bytes, Counter::dram_write_bytes}) {
        const Count& count = (*full)[full->size() - subject.orders.size() + i].counts[c];
        const double there = hardware_count(hardware.at("metrics"), row.at("values"),
                                            hardware.at("chip"), {"", {c}, 0});
        const bool inside = count.low * 0.99 <= there && there <= count.high * 1.01;
        (inside ? held : missed) += 1;
        out["counts"][std::string(name_of(c))] = {count.value, count.low, count.high, there};
        if (!inside) out["missed"].push_back(name_of(c));
      }
      launches.push_back(std::move(out));
    }
  }
  std::cerr << held << " intervals hold the monitors' count within a percent, " << missed
            << " do not\n";
  write_rows(
      path, {{"counts", "[value, low, high, hardware], bytes"}, {"held", held}, {"missed", missed}},
      launches);
  return 0;
}

// The reason given for a launch's count to differ; "" when there is none.
std::string reason_for(const json& known, const std::string& subject, const std::string& count) {
  for (const json& entry : known) {
    const auto& subjects = entry.at("kernels");
    const bool named = std::any_of(subjects.begin(), subjects.end(), [&](const json& s) {
      return subject.rfind(s.get<std::string>(), 0) == 0;
    });
    if (named && entry.at("count") == count) return entry.at("why");
  }
  return "";
}

// Both sides of every launch; exit 1 when one differs by more than it may and no reason is known.
int compare(const std::string& path, std::vector<BenchSubject>& subjects,
            const std::string& hardware_path, const std::string& known_path) {
  const json hardware = json::parse(std::ifstream(hardware_path)),
             known = json::parse(std::ifstream(known_path));
  std::map<std::string, std::vector<json>> seen;
  for (const json& row : hardware.at("rows"))
    seen[row.at("subject").get<std::string>() + "/" + row.at("label").get<std::string>()].push_back(
        row.at("values"));
  json launches = json::array(), summary;
  int unexplained = 0;
  for (BenchSubject& subject : subjects) {
    for (const Order& order : subject.orders) {
      auto& values = seen[subject.name + "/" + order.label];
      if (values.empty()) continue;
      const json mine = interpret(subject, order);
      json out = {{"kernel", subject.name}, {"launch", order.label}};
      for (const Compared& what : compared) {
        const double there =
            hardware_count(hardware.at("metrics"), values.front(), hardware.at("chip"), what);
        double here = 0;
        for (const Counter c : what.counters) here += mine.value(std::string(name_of(c)), 0.0);
        if (there == 0 && here == 0) continue;
        out["counts"][what.name] = {here, there};
        const bool within = std::abs(here - there) <= what.tolerance * there;
        json& sum = summary[what.name];
        if (sum.is_null()) sum = {{"launches", 0}, {"within", 0}, {"explained", 0}};
        sum["launches"] = sum.value("launches", 0) + 1;
        if (within) sum["within"] = sum.value("within", 0) + 1;
        if (within || what.tolerance == 0) continue;
        const std::string why = reason_for(known, subject.name, what.name);
        sum["explained"] = sum.value("explained", 0) + (why.empty() ? 0 : 1);
        out["differs"][what.name] = why;
        if (!why.empty()) continue;
        ++unexplained;
        std::cerr << subject.name << "/" << order.label << " " << what.name << ": " << here
                  << " here, " << there << " there\n";
      }
      values.erase(values.begin());
      launches.push_back(std::move(out));
    }
  }
  std::cerr << summary.dump(1) << "\n";
  json head = {{"chip", hardware.at("chip")},
               {"passes", hardware.at("passes")},
               {"counts", "[virtual, hardware]"},
               {"summary", summary}};
  write_rows(path, std::move(head), launches);
  return unexplained == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool of_peaks =
      words.size() == 2 && (words[0] == "known" || words[0] == "stalls" || words[0] == "settle");
  const bool known =
      !words.empty() && (words[0] == "device" || words[0] == "virtual" || words[0] == "compare" ||
                         words[0] == "full" || words[0] == "traffic");
  if (!of_peaks && (!known || words.size() != (words[0] == "compare"   ? 5
                                               : words[0] == "traffic" ? 4
                                                                       : 3))) {
    std::cerr << "usage: counters known|stalls|settle OUT.json | counters device|virtual|full "
                 "OUT.json GROUP | counters traffic "
                 "OUT.json big "
                 "HARDWARE.json | counters "
                 "compare OUT.json GROUP HARDWARE.json "
                 "DIFFERENCES.json\n";
    return 2;
  }
  auto pool = CompilePool::open({});
  if (!pool) {
    std::cerr << pool.error().message << "\n";
    return 4;
  }
  if (of_peaks && words[0] == "settle") return watch_settling(**pool, words[1]);
  if (of_peaks)
    return words[0] == "known" ? check_known(**pool, words[1]) : check_stalls(**pool, words[1]);
  std::vector<BenchSubject> subjects = make(group_of(**pool, words[2]));
  if (words[0] == "device") return count_device(**pool, words[1], subjects);
  if (words[0] == "traffic") return check_traffic(words[1], subjects, words[3]);
  if (words[0] == "full") return check_intervals(words[1], subjects);
  return words[0] == "virtual" ? count_virtual(words[1], subjects)
                               : compare(words[1], subjects, words[3], words[4]);
}

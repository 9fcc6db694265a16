#include "screens/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "screens/say.hpp"
#include "screens/screen_text.hpp"

namespace cupilot::cli {
namespace {

constexpr std::size_t row_width = 110;

std::string amount(double value) {
  constexpr std::pair<double, const char*> scales[] = {
      {1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e4, " k"}};
  for (const auto& [scale, letter] : scales) {
    if (value >= scale)
      return fmt::format("{:.{}f}{}", value / (scale == 1e4 ? 1e3 : scale),
                         value / scale < 10 ? 2 : 1, letter);
  }
  return fmt::format("{:.0f}", value);
}

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.2f} MB", bytes / 1e6);
  return bytes >= 1e4 ? fmt::format("{:.1f} kB", bytes / 1e3) : fmt::format("{:.0f} B", bytes);
}

double part(double value, double whole) { return whole > 0 ? value / whole : 0; }

std::string interval(const Count& count) {
  if (bytes_text(count.low) == bytes_text(count.high)) return bytes_text(count.value);
  return fmt::format("{} ({} to {})", bytes_text(count.value), bytes_text(count.low),
                     bytes_text(count.high));
}

std::string time_text_of(const ModelledTime& time, double floor) {
  std::string text = time_text(time.us) + " modelled";
  if (time_text(time.low_us) != time_text(time.high_us)) {
    text += fmt::format(" ({} to {})", time_text(time.low_us), time_text(time.high_us));
  }
  text += ", cold L2";
  if (floor > 0)
    text += fmt::format(": {:.1f} times the floor of {}", time.us / floor, time_text(floor));
  return text + fmt::format("; {} binds", time.binding);
}

// Every term that is not nothing, largest first.
std::string terms_text(const ModelledTime& time) {
  auto terms = time.terms_us;
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, us] : terms) {
    if (us >= 0.005) text += fmt::format("{}{} {:.2f} us", text.empty() ? "" : ", ", name, us);
  }
  return text;
}

std::string launch_text(const LaunchProfile& l) {
  std::string text = fmt::format("{}: grid {}x{}x{} of {}x{}x{} threads", l.entry, l.grid[0],
                                 l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2]);
  if (l.cluster[0] * l.cluster[1] * l.cluster[2] > 1) {
    text += fmt::format(" in clusters of {}x{}x{}", l.cluster[0], l.cluster[1], l.cluster[2]);
  }
  const std::string registers = l.registers > 0 ? std::to_string(l.registers) : "unknown";
  text += fmt::format(", {} registers a thread, {} B of shared memory a block", registers,
                      l.shared_bytes);
  if (l.spill_store_bytes + l.spill_load_bytes > 0) {
    text += fmt::format(", spills {} B stored and {} B loaded a thread", l.spill_store_bytes,
                        l.spill_load_bytes);
  }
  return text;
}

std::string residency_text(const LaunchProfile& l, const DeviceSpec& device) {
  const Residency& r = l.residency;
  const int warps = r.blocks * ((l.block[0] * l.block[1] * l.block[2] + 31) / 32);
  const int most = device.threads_per_sm / 32;
  const bool known = l.registers > 0;  // PTX of one's own is not assembled
  return fmt::format(
      "{}{} blocks an SM, {} of {} warps ({:.0f} %); limited by {} (threads {}, registers {}, "
      "shared {}, slots {})",
      known ? "" : "at most ", r.blocks, warps, most, 100.0 * warps / most, r.limit, r.threads,
      known ? std::to_string(r.registers) : "unknown", r.shared, r.slots);
}

std::string work_text(const LaunchProfile& l) {
  const Counts& c = l.counts;
  return fmt::format(
      "{} warp instructions, {:.1f} of 32 lanes active, {} issue slots; {} divergent branches, {} "
      "arrivals at barriers",
      amount(c[Counter::warp_instructions].value), part(l.total.threads, l.total.warps),
      amount(c[Counter::issue_slots].value), amount(c[Counter::divergent_branches].value),
      amount(c[Counter::barriers].value));
}

std::string flops_text(const Counts& c) {
  constexpr std::pair<Counter, const char*> rows[] = {{Counter::flops_fp64, "fp64"},
                                                      {Counter::flops_fp32, "fp32"},
                                                      {Counter::flops_fp16, "half"},
                                                      {Counter::ops_tensor_bf16, "tensor bf16"},
                                                      {Counter::ops_tensor_fp16, "tensor fp16"},
                                                      {Counter::ops_tensor_tf32, "tensor tf32"},
                                                      {Counter::ops_tensor_fp8, "tensor fp8"},
                                                      {Counter::ops_tensor_int8, "tensor int8"},
                                                      {Counter::integer_ops, "integer"},
                                                      {Counter::special_ops, "special"}};
  std::string text;
  for (const auto& [counter, name] : rows) {
    const double value = c[counter].value;
    if (value > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, amount(value));
  }
  return (text.empty() ? "none" : text) + " (a multiply-add is 2)";
}

std::string global_text(const Counts& c) {
  const auto one = [&](const char* name, Counter requests, Counter sectors) {
    const double n = c[requests].value;
    return n > 0 ? fmt::format("{} {} requests, {:.1f} sectors each", name, amount(n),
                               c[sectors].value / n)
                 : fmt::format("{} none", name);
  };
  std::string text = one("loads", Counter::global_load_requests, Counter::global_load_sectors) +
                     "; " +
                     one("stores", Counter::global_store_requests, Counter::global_store_sectors);
  if (c[Counter::atomic_requests].value > 0)
    text += "; " + one("atomics", Counter::atomic_requests, Counter::atomic_sectors);
  if (c[Counter::local_bytes].value > 0)
    text += fmt::format("; local memory {}", bytes_text(c[Counter::local_bytes].value));
  return text;
}

std::string shared_text(const Counts& c) {
  const double loads = c[Counter::shared_load_wavefronts].value,
               stores = c[Counter::shared_store_wavefronts].value;
  const double conflicts = c[Counter::shared_conflicts].value;
  if (loads + stores <= 0) return "not used";
  const std::string text =
      fmt::format("loads {} wavefronts, stores {}; ", amount(loads), amount(stores));
  if (conflicts <= 0) return text + "no bank conflicts";
  return text + fmt::format("{} of them bank conflicts: {:.2f} times the least", amount(conflicts),
                            part(loads + stores, loads + stores - conflicts));
}

std::string traffic_text(const Counts& c) {
  return fmt::format("L2 {}; DRAM read {}, written {}", interval(c[Counter::l2_bytes]),
                     interval(c[Counter::dram_read_bytes]), interval(c[Counter::dram_write_bytes]));
}

// Kinds in rows of four.
void put_kinds(std::string& screen, const LaunchProfile& l) {
  constexpr std::size_t a_row = 4, most = 16;
  std::string row;
  for (std::size_t i = 0; i < std::min(most, l.kinds.size()); ++i) {
    row += fmt::format("{:<14}{:>5.1f} %  ", l.kinds[i].name,
                       100 * part(l.kinds[i].work.issue_slots(), l.total.issue_slots()));
    if (i % a_row != a_row - 1 && i + 1 < std::min(most, l.kinds.size())) continue;
    row.erase(row.find_last_not_of(' ') + 1);
    screen += fmt::format("  {:<11}{}\n", i < a_row ? "mix" : i < 2 * a_row ? "of slots" : "", row);
    row.clear();
  }
}

// The lines with most issue slots; and that with most sectors, and with most conflicts, wherever
// they stand.
std::vector<const ProfiledLine*> hottest(const LaunchProfile& l, std::size_t most) {
  const ProfiledLine *sectors = nullptr, *conflicts = nullptr;
  for (const ProfiledLine& line : l.lines) {
    if (line.work.sectors > (sectors == nullptr ? 0 : sectors->work.sectors)) sectors = &line;
    if (line.work.conflicts > (conflicts == nullptr ? 0 : conflicts->work.conflicts))
      conflicts = &line;
  }
  std::vector<const ProfiledLine*> chosen;
  std::size_t owed =
      (sectors != nullptr ? 1 : 0) + (conflicts != nullptr && conflicts != sectors ? 1 : 0);
  for (const ProfiledLine& line : l.lines) {
    if (&line == sectors || &line == conflicts) {
      --owed;
    } else if (chosen.size() + owed >= most) {
      continue;
    }
    chosen.push_back(&line);
  }
  return chosen;
}

void put_lines(std::string& screen, const OwnKernel& kernel, const LaunchProfile& l,
               std::size_t most) {
  screen +=
      "\n   slots  lanes  sectors/req  conflicts  PTX  hottest lines (slots: instructions and bank "
      "conflicts)\n";
  for (const ProfiledLine* line : hottest(l, most)) {
    const InstructionWork& w = line->work;
    const UserLine mine = user_line(kernel, *line);
    const std::string sectors =
        w.requests > 0 ? fmt::format("{:.1f}", w.sectors / w.requests) : "-";
    const std::string conflicts =
        w.wavefronts > 0 ? fmt::format("{:.2f}x", part(w.wavefronts, w.wavefronts - w.conflicts))
                         : "-";
    const std::string row =
        fmt::format("  {:>4.1f} %  {:>5.1f}  {:>11}  {:>9}  {:>3}  {}:{}  {}",
                    100 * part(w.issue_slots(), l.total.issue_slots()), part(w.threads, w.warps),
                    sectors, conflicts, line->instructions, mine.file, mine.line, mine.text);
    screen += row.substr(0, row_width) + "\n";
  }
}

void put_launches(std::string& screen, const Profile& profile, std::size_t chosen) {
  constexpr std::size_t most = 6;
  for (std::size_t i = 0; i < std::min(most, profile.launches.size()); ++i) {
    const LaunchProfile& l = profile.launches[i];
    put(screen, i == 0 ? "launches" : "",
        fmt::format("{} {} {} modelled alone, {} binds", i == chosen ? "*" : " ", l.name,
                    time_text(l.time.us), l.time.binding));
  }
  if (profile.launches.size() > most)
    put(screen, "", fmt::format("and {} more", profile.launches.size() - most));
  put(screen, "", "* shown below; --only NAME shows another");
}

std::string shape_text(const Workload& workload) {
  std::string text;
  for (const auto& [axis, size] : workload.sizes) text += fmt::format(" {}={}", axis, size);
  return text;
}

std::string counts_text(const LaunchProfile& l) {
  return fmt::format("nothing was measured: {} work, {} memory traffic; lines from {}",
                     name_of(l.counts[Counter::warp_instructions].how),
                     name_of(l.counts[Counter::dram_read_bytes].how), l.lines_from);
}

}  // namespace

UserLine user_line(const OwnKernel& kernel, const ProfiledLine& line) {
  const bool mine = line.file == (kernel.source.language == Language::ptx ? "" : "kernel.cu");
  if (!mine) return {line.file.empty() ? "(PTX)" : line.file, line.line, ""};
  if (line.line + kernel.header_lines < kernel.first_line)  // written for the task
    return {line.file, line.line, line_of(kernel.text, line.line)};
  return {file_name(kernel.path), line.line + kernel.header_lines, line_of(kernel.text, line.line)};
}

std::string profile_screen(const OwnKernel& kernel, const Profile& profile,
                           const DeviceSpec& device, std::size_t chosen, int line_count) {
  std::string screen =
      fmt::format("PROFILE on {}, modelled: {}{}{}\n", profile.device, file_name(kernel.path),
                  kernel.task ? ", task " + kernel.task->name : "", shape_text(profile.workload));
  put(screen, "time", time_text_of(profile.time, profile.floor_us), 2);
  put_all(screen, "note", profile.conditions, 4);
  put(screen, "terms", terms_text(profile.time), 3);
  if (!profile.counted.empty()) put(screen, "counted", profile.counted, 2);
  if (profile.launches.size() > 1) put_launches(screen, profile, chosen);
  const LaunchProfile& l = profile.launches[chosen];
  put(screen, "launch", launch_text(l), 2);
  if (l.measured_us > 0)
    put(screen, "measured", time_text(l.measured_us) + " under the counters, cold L2", 2);
  put(screen, "occupancy", residency_text(l, device), 2);
  put(screen, "work", work_text(l), 2);
  put(screen, "operations", flops_text(l.counts), 2);
  put(screen, "global", global_text(l.counts), 2);
  put(screen, "shared", shared_text(l.counts), 2);
  put(screen, "traffic", traffic_text(l.counts), 2);
  if (const std::string waits = stall_sentence(l.stalls); !waits.empty())
    put(screen, "warps", waits, 2);
  put(screen, "counts", counts_text(l), 2);
  put_kinds(screen, l);
  put_lines(screen, kernel, l, static_cast<std::size_t>(line_count));
  return screen;
}

}  // namespace cupilot::cli

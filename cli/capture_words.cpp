#include "capture_words.hpp"

namespace cupilot::cli {

void add_capture(CLI::App& app, CaptureFlags& flags, std::function<int()>& chosen) {
  CLI::App* verb = app.add_subcommand(
      "capture", "run a program and keep its kernels' launches for verify and sanitize");
  verb->add_option("program", flags.program, "the program and its arguments, behind --")
      ->required();
  verb->add_option("--out", flags.out, "folder to make; default: captures/PROGRAM");
  verb->add_option("--launches", flags.launches, "distinct launches to keep")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  verb->add_option("--megabytes", flags.megabytes, "to keep of an allocation at most")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  verb->add_option("--entry", flags.entry, "keep only kernels with this in their names");
  verb->add_flag("--json", flags.json, "print one JSON object on standard output");
  verb->callback([&] { chosen = [&flags] { return capture_command(flags); }; });
}

}  // namespace cupilot::cli

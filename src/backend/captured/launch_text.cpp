#include "backend/captured/launch_text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <cupilot/parts/host.hpp>

namespace cupilot {

Result<std::optional<PtxText>> text_for(const Capture& capture, const CapturedModule& module,
                                        const CapturedLaunch& launch) {
  std::vector<std::string> files = module.ptx;
  files.insert(files.begin(), module.file);
  const auto device = capture.devices.find(launch.device);
  const int capability = device == capture.devices.end() ? 0 : device->second.capability;
  std::optional<PtxText> best;
  const auto fits = [&](const PtxText& text) { return text.arch <= capability; };
  for (const std::string& file : files) {
    const Result<std::string> image = real_host().read_file(capture.folder + "/" + file);
    if (!image) return image.error();
    const auto* begin = reinterpret_cast<const std::uint8_t*>(image->data());
    Result<std::vector<PtxText>> texts = ptx_of_image({begin, image->size()});
    if (!texts) return std::move(texts.error());
    for (PtxText& one : *texts) {
      if (one.text.find(launch.entry) == std::string::npos) continue;
      const bool better = !best || (fits(one) && (!fits(*best) || one.arch > best->arch)) ||
                          (!fits(one) && !fits(*best) && one.arch < best->arch);
      if (better) best = std::move(one);
    }
  }
  return best;
}

std::vector<const ptx::Function*> functions_of(const ptx::Program& program) {
  std::vector<const ptx::Function*> out;
  for (const ptx::Code& code : program.codes)
    out.push_back(&program.module->functions[code.function]);
  return out;
}

bool takes_maps(const ptx::Program& program) {
  for (const ptx::Function* function : functions_of(program)) {
    for (const ptx::Instruction& one : function->instructions) {
      const std::string& form = program.module->form(one).text;
      if (form.find(".tensor.") != std::string::npos && form.starts_with("cp.")) return true;
    }
  }
  return false;
}

std::string texture_use(const ptx::Program& program) {
  using ptx::Opcode;
  static constexpr Opcode opcodes[] = {Opcode::op_tex,  Opcode::op_tld4,   Opcode::op_txq,
                                       Opcode::op_suld, Opcode::op_sust,   Opcode::op_sured,
                                       Opcode::op_suq,  Opcode::op_istypep};
  for (const ptx::Function* function : functions_of(program)) {
    for (const ptx::Instruction& one : function->instructions) {
      const ptx::Form& form = program.module->form(one);
      if (std::find(std::begin(opcodes), std::end(opcodes), form.opcode) != std::end(opcodes))
        return fmt::format("{} at ptx line {}", form.text, one.line);
    }
  }
  return "";
}

}  // namespace cupilot

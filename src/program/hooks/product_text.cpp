#include <algorithm>

#include <fmt/format.h>

#include "program/hooks/graph_text.hpp"
#include "program/hooks/pitched.hpp"
#include "program/hooks/stage_text.hpp"
#include "task/identifiers.hpp"

namespace cupilot {
namespace {

// Text of `struct Graph` of what follows a product.
class ProductText : public StageText {
 public:
  ProductText(const Task& task, const GraphSite& site, std::string left_pitch)
      : StageText(task, site), left_pitch_(std::move(left_pitch)) {}

  std::string text(int spans) const {
    return opening() + spans_text(spans) + structs() + functions() + load_at() + results() +
           finish_sum() + store_sums() + extents() + "};\n";
  }

 private:
  // Says that vectors of views are aligned where those of dense tensors are.
  std::string aligned() const {
    std::string out = "true";
    for (const Tensor& tensor : task_.tensors) {
      if (is_view(tensor)) out += fmt::format(" && this->{}.aligned(elements)", tensor.name);
    }
    return out;
  }

  std::string spans_text(int spans) const {
    return fmt::format(
        "{}  static constexpr int SPANS = {};  // Span::kinds\n",
        spans == 0 ? ""
                   : "  // The task declares operands triangular: zeros beyond are not read.\n",
        spans);
  }

  std::string structs() const {
    std::string out =
        "  struct Row {\n    long long row;\n  };\n  // N elements of a row as they are stored.\n"
        "  template <int N>\n  struct Values {\n";
    for (const std::string& name : held(all_stages()))
      out += fmt::format("    Vector<T_{0}, N> {0};\n", name);
    return out + "  };\n";
  }

  // Loads elements that lie beside N sums of a product, where they are needed.
  std::string load_at() const {
    std::string out =
        "  template <int N>\n  __device__ __forceinline__ Values<N> load(long long first) const "
        "{\n    Values<N> values;\n";
    for (const std::string& name : held(all_stages()))
      out += fmt::format("    values.{0} = load_wide<T_{0}, N>(this->{0} + first);\n", name);
    return out + "    return values;\n  }\n";
  }

  std::string results() const {
    const auto all = outputs(StagePlace::full);
    std::string out = "  template <int N>\n  struct Results {\n", first_output = stage(all[0]).name;
    std::vector<int> order;
    for (const int output : all) {
      out += fmt::format("    float {}[N];\n", stage(output).name);
      needed(output, order);
    }
    const auto is_beside = [&](const SiteRead& read) {
      return read.stage < 0 || sited(read.stage).apart;
    };
    const bool reads = std::any_of(order.begin(), order.end(), [&](int number) {
      return std::any_of(sited(number).reads.begin(), sited(number).reads.end(), is_beside) ||
             !sited(number).called.empty();
    });
    out += fmt::format(
        "  }};\n  static constexpr bool READS = {};  // tensors beside the product\n"
        "  __device__ __forceinline__ T_{}* output() const {{ return this->{}; }}\n"
        "  __device__ __forceinline__ bool aligned(int elements) const {{ return {}; }}\n"
        "  __device__ __forceinline__ int left_pitch(int k) const {{ return {}; }}\n"
        "  // Outputs of N neighbours from their sums.\n  template <int N>\n  __device__ "
        "__forceinline__ Results<N> results(long long row, long long first, int column,\n"
        "                                                const float (&sum)[N]) const {{\n"
        "    const Row at = {{row}};\n    const Values<N> values = load<N>(first);\n"
        "    Results<N> result;\n",
        reads, first_output,
        first_output + (is_view(*find_tensor(task_, first_output)) ? ".base" : ""), aligned(),
        left_pitch_);
    out += columns(order, "load_columns");
    out +=
        "#pragma unroll\n    for (int each_ = 0; each_ < N; ++each_) {\n    const float acc = "
        "sum[each_];\n" +
        stages_before(order, -1);
    for (const int output : all)
      out += fmt::format("    result.{0}[each_] = value_{0};\n", stage(output).name);
    return out + "    }\n    return result;\n  }\n";
  }

  std::string finish_sum() const {
    return fmt::format(
        "  // The first output at one element.\n  __device__ __forceinline__ float finish(long "
        "long row, long long at, int column, float sum) const {{\n    const float one[1] = {{sum}};"
        "\n    return results<1>(row, at, column, one).{}[0];\n  }}\n",
        stage(outputs(StagePlace::full)[0]).name);
  }

  std::string store_sums() const {
    std::string out =
        "  // N neighbours of a row; N > 1: at a multiple of N elements.\n  template <int N>\n"
        "  __device__ __forceinline__ void store(long long row, long long at, int column,\n"
        "                                        const float (&sum)[N]) const {\n"
        "    const Results<N> result = results<N>(row, at, column, sum);\n";
    for (const int output : outputs(StagePlace::full)) {
      out += fmt::format(
          "    {{\n    Vector<T_{0}, N> out;\n#pragma unroll\n"
          "    for (int each_ = 0; each_ < N; ++each_) out.at[each_] = "
          "from_float<T_{0}>(result.{0}[each_]);\n"
          "    store_wide<T_{0}, N, STREAM_STORE != 0 && (N > 1)>(this->{0} + at, out);\n    }}\n",
          stage(output).name);
    }
    return out + "  }\n";
  }

  std::string left_pitch_;  // of the product's left operand, in terms of `k`
};

}  // namespace

std::string product_text(const Task& task, const GraphSite& site, int spans,
                         const std::string& left_pitch) {
  // The template's own names of types hide those of tensors.
  return renamed(ProductText(task, site, left_pitch).text(spans),
                 [&](const std::string& word) -> std::optional<std::string> {
                   const bool type = word.starts_with("T_") && find_tensor(task, word.substr(2));
                   return type ? std::optional("type_" + word.substr(2)) : std::nullopt;
                 });
}

}  // namespace cupilot

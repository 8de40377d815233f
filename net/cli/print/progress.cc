#include "net/cli/print/progress.h"

#include <algorithm>
#include <utility>

#include "net/cli/text/text.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

uint64_t per_second(uint64_t n, int64_t elapsed_us) {
  const double seconds = std::max(static_cast<double>(elapsed_us) / 1e6, 1e-3);
  return static_cast<uint64_t>(static_cast<double>(n) / seconds);
}

}  // namespace

std::string progress_text(const Progress& p) {
  constexpr size_t kBarCells = 24;
  std::string line = "  ";
  std::string left;
  if (p.share) {
    const double share = std::clamp(*p.share, 0.0, 1.0);
    const auto full = static_cast<size_t>(share * kBarCells);
    line += fmt::format("[{}{}] {:3.0f}%   ", std::string(full, '#'),
                        std::string(kBarCells - full, ' '), share * 100);
    const double done_now = share - p.share_before;
    if (done_now > 0.01 && share < 1) {
      const double us = static_cast<double>(p.elapsed_us) * (1 - share) / done_now;
      left = fmt::format("   {} left", format_duration(static_cast<int64_t>(us)));
    }
  }
  return line + fmt::format("{} {}, {}/s   {}, {}/s{}", with_commas(p.units), p.unit,
                            with_commas(per_second(p.units - p.units_before, p.elapsed_us)),
                            human_bytes(p.bytes),
                            human_bytes(per_second(p.bytes - p.bytes_before, p.elapsed_us)), left);
}

bool ProgressLine::due(int64_t elapsed_us) const {
  if (!console_.err_is_terminal && !wanted_) return false;
  return elapsed_us - shown_us_ >=
         (console_.err_is_terminal ? kTerminalEveryUs : kElsewhereEveryUs);
}

void ProgressLine::show(const Progress& progress) {
  shown_us_ = progress.elapsed_us;
  const std::string text = progress_text(progress);
  if (console_.err_is_terminal) {
    std::fprintf(console_.err, "\r\x1b[K%s", text.c_str());
    line_open_ = true;
  } else {
    std::fprintf(console_.err, "%s\n", text.c_str());
  }
  std::fflush(console_.err);
}

void ProgressLine::clear() {
  if (std::exchange(line_open_, false)) std::fputs("\r\x1b[K", console_.err);
}

}  // namespace cellar::cli

#include "net/cli/transfer/log_formats.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr size_t kTimeBytes = 19;  // "2025-06-24 14:36:25"

// Converts a local time with the C library's time zone; UTC if there is none.
int64_t local_to_utc(int64_t as_if_utc_us) {
  const auto seconds = static_cast<std::time_t>(as_if_utc_us / kSecond);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  parts.tm_isdst = -1;
  return static_cast<int64_t>(::mktime(&parts)) * kSecond;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t blank = text.find(' ');
    if (blank != 0) words.push_back(text.substr(0, blank));
    if (blank == text.npos) break;
    text.remove_prefix(blank + 1);
  }
  return words;
}

struct PackageName {
  std::string_view name;
  std::string_view architecture;
};
PackageName split_package(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::string versions(std::string_view before, std::string_view after) {
  const bool has_before = before != "<none>";
  const bool has_after = after != "<none>";
  if (has_before && has_after) return fmt::format("{} -> {}", before, after);
  if (has_before) return std::string(before);
  return has_after ? std::string(after) : std::string();
}

class DpkgLogSource final : public LineSource {
 public:
  using LineSource::LineSource;

  Result<std::optional<client::Mutation>> next() override {
    TRY(const std::optional<std::string_view> line, next_line());
    if (!line) return std::optional<client::Mutation>();
    TRY(const DpkgEvent event, parse_dpkg_line(*line, options_.utc));
    client::Mutation mutation(event.row);
    mutation.set(event.family, event.qualifier, event.value, spread(event));
    return std::optional<client::Mutation>(std::move(mutation));
  }
  // The lines before are read again, because the numbers of their events go on.
  Result<void> seek(Position to) override {
    while (lines_.bytes() < to.offset) {
      const auto line = lines_.next();
      if (!line && line.error().code == Errc::data_loss) return std::unexpected(line.error());
      if (line && !*line) return fail(Errc::failed_precondition, "the file is shorter than it was");
      if (!line) continue;
      if (const auto event = parse_dpkg_line(**line, options_.utc)) numbers_.next(*event);
    }
    return {};
  }

 private:
  // The log has a resolution of seconds. Several events of one cell in one second keep their order
  // with timestamps a millisecond apart. The same log always yields the same timestamps.
  int64_t spread(const DpkgEvent& event) {
    const uint64_t nth = numbers_.next(event);
    return event.time_us + static_cast<int64_t>(std::min<uint64_t>(nth, 999)) * 1000;
  }

  EventNumbers numbers_;
};

class PackageListSource final : public LineSource {
 public:
  using LineSource::LineSource;

  Result<std::optional<client::Mutation>> next() override {
    TRY(const std::optional<std::string_view> line, next_line());
    if (!line) return std::optional<client::Mutation>();
    const size_t first = line->find('\t');
    const size_t second = first == line->npos ? first : line->find('\t', first + 1);
    if (second == line->npos || line->find('\t', second + 1) != line->npos || first == 0) {
      return fail(Errc::invalid_argument, "not package, architecture, version between tabs");
    }
    client::Mutation mutation(line->substr(0, first));
    const std::string_view architecture = line->substr(first + 1, second - first - 1);
    const std::string_view version = line->substr(second + 1);
    if (options_.at_us) {
      mutation.set("install", architecture, version, *options_.at_us);
    } else {
      mutation.set("install", architecture, version);
    }
    return std::optional<client::Mutation>(std::move(mutation));
  }
};

}  // namespace

uint64_t EventNumbers::next(const DpkgEvent& event) {
  const std::string cell = std::to_string(event.time_us) + '\0' + event.row + '\0' + event.family +
                           '\0' + event.qualifier;
  const uint64_t name = std::hash<std::string_view>{}(cell);
  const auto [at, is_new] = seen_.try_emplace(name, 0);
  const uint64_t number = at->second++;
  if (is_new) order_.push_back(name);
  if (order_.size() > kMaxNumberedEvents) {
    seen_.erase(order_.front());
    order_.pop_front();
  }
  return number;
}

Result<DpkgEvent> parse_dpkg_line(std::string_view line, bool utc) {
  if (line.size() <= kTimeBytes || line[kTimeBytes] != ' ' || line[10] != ' ') {
    return fail(Errc::invalid_argument, "does not begin with a date and a time");
  }
  const auto time = parse_time(line.substr(0, kTimeBytes), 0);
  if (!time) return fail(Errc::invalid_argument, "does not begin with a date and a time");
  const std::vector<std::string_view> words = words_of(line.substr(kTimeBytes + 1));
  DpkgEvent event;
  event.time_us = utc ? *time : local_to_utc(*time);
  if (event.time_us < 0) return fail(Errc::invalid_argument, "a time before 1970");
  const std::string_view action = words.empty() ? std::string_view() : words[0];
  event.family = std::string(action);
  if (action == "startup" && words.size() == 3) {
    event.row = "dpkg";
    event.qualifier = std::string(words[1]);
    event.value = std::string(words[2]);
  } else if (action == "conffile" && words.size() == 3) {
    event.row = std::string(words[1]);
    event.value = std::string(words[2]);
  } else if (action == "status" && words.size() == 4) {
    event.row = std::string(split_package(words[2]).name);
    event.qualifier = std::string(words[1]);
    event.value = versions(words[3], "<none>");
  } else if (words.size() == 4 && action != "startup" && action != "conffile") {
    const PackageName package = split_package(words[1]);
    event.row = std::string(package.name);
    event.qualifier = std::string(package.architecture);
    event.value = versions(words[2], words[3]);
  } else {
    return fail(Errc::invalid_argument,
                "not 'ACTION PACKAGE OLD NEW' nor 'status STATE PACKAGE "
                "VERSION' nor 'startup TYPE COMMAND'");
  }
  if (event.row.empty()) return fail(Errc::invalid_argument, "without a package");
  return event;
}

std::unique_ptr<RecordSource> dpkg_log_source(LineReader lines, const SourceOptions& options) {
  return std::make_unique<DpkgLogSource>(std::move(lines), options);
}

std::unique_ptr<RecordSource> package_list_source(LineReader lines, const SourceOptions& options) {
  return std::make_unique<PackageListSource>(std::move(lines), options);
}

}  // namespace cellar::cli

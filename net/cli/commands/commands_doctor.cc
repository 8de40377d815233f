#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "io/base/crc32c.h"
#include "io/loop/machine_memory.h"
#include "net/cli/commands/commands.h"
#include "net/cli/print/printer.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/text.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

namespace fs = std::filesystem;
using Level = Finding::Level;
using Findings = std::vector<Finding>;

constexpr uint64_t kKnownFormat = 6;    // engine/FORMATS.md, "Directory layout"
constexpr double kLowShare = 0.15;      // warning below this share of free disk space
constexpr double kVeryLowShare = 0.05;  // below this, writes will stop soon
constexpr int64_t kLongRecoveryUs = 60'000'000;
constexpr int64_t kDayUs = 86'400'000'000;
constexpr int64_t kCertificateSoonUs = 21 * kDayUs;  // warning this long before expiry
constexpr int64_t kOldBackupUs = 7 * kDayUs;
constexpr size_t kMostPlaces = 100;  // directories searched for backups

void add(Findings& all, Level level, std::string check, std::string what, std::string advice = "") {
  all.push_back({level, std::move(check), std::move(what), std::move(advice)});
}

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return in ? text.str() : std::string();
}

// Rounds to whole days from one day on.
std::string whole_days(int64_t us) {
  return us < kDayUs ? format_duration(us) : fmt::format("{} days", us / kDayUs);
}

std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

void look_at_room(Findings& all, const std::string& directory) {
  struct statvfs disk{};
  if (statvfs(directory.c_str(), &disk) != 0 || disk.f_blocks == 0) return;
  const uint64_t free = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
  const double share = static_cast<double>(disk.f_bavail) / static_cast<double>(disk.f_blocks);
  const std::string what = fmt::format("{} are free, {:.0f} %", human_bytes(free), share * 100);
  if (share < kVeryLowShare) {
    return add(all, Level::problem, "disk", what,
               "make room or add disk now: flushes and merges need it, and so does reclaiming");
  }
  if (share < kLowShare) {
    return add(all, Level::warning, "disk", what,
               "plan more disk, or tighter rules (cellar gc preview says what they would free)");
  }
  add(all, Level::good, "disk", what);
}

void look_at_format(Findings& all, const fs::path& directory) {
  const std::string text = content_of(directory / "FORMAT");
  constexpr std::string_view kHead = "cellar format ";
  if (text.empty()) {
    std::error_code ignored;
    const bool used = std::ranges::any_of(std::array{"manifest", "log", "blob"}, [&](auto* name) {
      return fs::exists(directory / name, ignored);
    });
    if (!used) {
      return add(all, Level::good, "format", "no FORMAT file and no data: the directory is new");
    }
    return add(all, Level::problem, "format", "no FORMAT file, though there is data",
               "restore it, or restore a backup into a new directory");
  }
  const size_t blank = std::min(text.rfind(' '), text.size());  // the checksum is after it
  const bool whole = text.substr(blank) ==
                     fmt::format(" {:08x}\n", crc32c(std::string_view(text).substr(0, blank)));
  const auto version = whole && text.starts_with(kHead)
                           ? number_in(std::string_view(text).substr(kHead.size()))
                           : std::nullopt;
  if (!version) {
    return add(all, Level::problem, "format", "the FORMAT file is damaged",
               "restore it: engine/FORMATS.md says what is in it");
  }
  if (*version != kKnownFormat) {
    return add(
        all, Level::problem, "format",
        fmt::format("is of format {}, this program reads format {} only", *version, kKnownFormat),
        "take the program that wrote it");
  }
  add(all, Level::good, "format", fmt::format("is of format {}", *version));
}

// Whether a process holds the lock file, according to /proc/locks (by inode).
bool is_locked(const fs::path& lock) {
  std::error_code ignored;
  if (!fs::exists(lock, ignored)) return false;
  struct stat about{};
  if (::stat(lock.c_str(), &about) != 0) return false;
  const std::string inode = fmt::format(":{} ", about.st_ino);
  return content_of("/proc/locks").find(inode) != std::string::npos;
}

void look_at_cgroup(Findings& all, uint64_t memory_bytes) {
  const uint64_t there = machine_memory_bytes();
  if (there == 0) return;
  const uint64_t bound = resident_bound_bytes(memory_bytes);
  const std::string what = fmt::format(
      "memory.total is {}, with which a node takes up to {}; the machine or group has {}",
      human_bytes(memory_bytes), human_bytes(bound), human_bytes(there));
  if (memory_bytes > there / 10 * 9) {
    return add(all, Level::problem, "memory", what,
               "the kernel will end the node: set memory.total to three quarters of it or less");
  }
  if (bound > there) {
    return add(all, Level::warning, "memory", what,
               "under many large requests the kernel may end the node: lower memory.total");
  }
  add(all, Level::good, "memory", what);
}

void look_at_descriptors(Findings& all, const std::string& directory) {
  // The open-file limit of the node, if it runs here: the lock file has its pid.
  const auto pid = number_in(content_of(fs::path(directory) / "LOCK"));
  if (!pid) return;
  const std::string limits = content_of(fmt::format("/proc/{}/limits", *pid));
  const size_t at = limits.find("Max open files");
  if (at == std::string::npos) return;
  const auto soft = number_in(limits.substr(limits.find_first_of("0123456789", at)));
  if (!soft) return;
  const std::string what = fmt::format("the node may open {} files", with_commas(*soft));
  if (*soft < 16'384) {
    return add(all, Level::warning, "files", what,
               "raise it (LimitNOFILE in the unit, ulimit -n): each table on disk and each "
               "connection takes one");
  }
  add(all, Level::good, "files", what);
}

void look_at_info(Findings& all, const client::ServerInfo& info) {
  add(all, Level::good, "node",
      fmt::format("version {}, {} shards, up for {}", info.version, info.shards,
                  format_duration(info.uptime_us)));
  const auto read_only = std::count_if(info.stats.begin(), info.stats.end(),
                                       [](const client::ShardStats& s) { return s.read_only; });
  if (read_only > 0) {
    add(all, Level::problem, "writes",
        fmt::format("{} of {} shards take no writes: a log or the manifest failed, or the "
                    "disk had no room for the start",
                    read_only, info.stats.size()),
        "see the log for the first error, mend the disk or make room, start the node again");
  } else {
    add(all, Level::good, "writes", "every shard takes writes");
  }
  if (info.io_backend == "io_uring") {
    add(all, Level::good, "io", "io_uring");
  } else {
    add(all, Level::warning, "io", fmt::format("threads instead of io_uring: {}", info.io_reason),
        "permit the three io_uring calls (kernel.io_uring_disabled, the container's seccomp "
        "profile), if reads wait for the disk");
  }
  if (info.torn_tail_bytes > 0) {
    add(all, Level::good, "start",
        fmt::format("the last start discarded {} that no client was told of",
                    human_bytes(info.torn_tail_bytes)));
  }
  if (info.recovery_us > kLongRecoveryUs) {
    add(all, Level::warning, "start",
        fmt::format("the last start replayed {} in {}", human_bytes(info.replayed_bytes),
                    format_duration(info.recovery_us)),
        "stop nodes with SIGTERM, which flushes");
  }
}

void look_at_clock(Findings& all, const client::ClockReport& clock) {
  if (clock.stands) {
    add(all, Level::problem, "clock",
        fmt::format("the node was started read-only: what it answers is as of {}",
                    format_time(clock.trusted_us)),
        "make room on the disk, start the node again");
  } else if (clock.lag_us > 0) {
    add(all, Level::problem, "clock",
        fmt::format("trusted time lags {} behind: no anchor of the clock could be written",
                    format_duration(clock.lag_us)),
        "see the log for the first error of the clock; past 10 s of lag reads are refused");
  } else if (clock.held_us > 0) {
    add(all, Level::warning, "clock",
        fmt::format("{} are held: what would die by them lives on", format_duration(clock.held_us)),
        "if the wall clock is right: cellar clock confirm shows what would die, and releases it");
  } else if (!clock.synchronised) {
    add(all, Level::warning, "clock", "the kernel does not say that its clock is synchronised",
        "run chrony or systemd-timesyncd: after a boot, time is held until it is");
  } else {
    add(all, Level::good, "clock", "synchronised, nothing is held");
  }
}

void look_at_certificate(Findings& all, int64_t expires_us, int64_t now_us) {
  if (expires_us == 0) return;
  const int64_t left_us = expires_us - now_us;
  const std::string when = format_time(expires_us);
  constexpr std::string_view kAdvice =
      "put the new certificate and key in the place of the old: the node takes them within a "
      "second";
  if (left_us <= 0) {
    return add(all, Level::problem, "tls", "the certificate expired on " + when,
               std::string(kAdvice));
  }
  const std::string what =
      fmt::format("the certificate expires in {}, on {}", whole_days(left_us), when);
  if (left_us < kCertificateSoonUs) {
    return add(all, Level::warning, "tls", what, std::string(kAdvice));
  }
  add(all, Level::good, "tls", what);
}

// The time of the newest backup in the directory; on this machine also in its immediate
// subdirectories, because each node has its own directory.
std::optional<int64_t> newest_backup_us(client::SyncClient& client, const std::string& directory,
                                        bool local) {
  std::vector<std::string> places{directory};
  std::error_code error;
  if (local) {
    for (const auto& entry : fs::directory_iterator(directory, error)) {
      if (places.size() >= kMostPlaces) break;
      if (entry.is_directory(error)) places.push_back(entry.path());
    }
  }
  std::optional<int64_t> newest;
  for (const std::string& place : places) {
    const auto found = client.backup({.action = client::BackupAction::list, .directory = place});
    if (!found) continue;  // no backups there
    for (const client::BackupInfo& one : found->backups) {
      newest = std::max(newest.value_or(one.wall_us), one.wall_us);
    }
  }
  return newest;
}

void look_at_backups(Findings& all, client::SyncClient& client,
                     const std::vector<std::string>& directories, bool local, int64_t now_us) {
  if (directories.empty()) {
    return add(all, Level::good, "backups", "backup.directories is empty: this node takes none");
  }
  std::optional<int64_t> newest;
  std::string names;
  for (const std::string& directory : directories) {
    const auto here = newest_backup_us(client, directory, local);
    if (here) newest = std::max(newest.value_or(*here), *here);
    names += (names.empty() ? "" : ", ") + directory;
  }
  if (!newest) {
    return add(all, Level::warning, "backups", fmt::format("none was found in {}", names),
               "cellar backup take DIRECTORY, and a timer that does so every day");
  }
  const int64_t age_us = std::max<int64_t>(now_us - *newest, 0);
  const std::string what = fmt::format("the newest of {} is {} old", names, whole_days(age_us));
  if (age_us > kOldBackupUs) {
    return add(all, Level::warning, "backups", what, "cellar backup take DIRECTORY");
  }
  add(all, Level::good, "backups", what);
}

// Information of newer operations; older nodes are skipped.
void look_at_operations(Findings& all, Session& session, bool local) {
  const auto status = session.client().control(client::ControlAction::status);
  if (!status) return;
  if (status->state != "ready") {
    add(all, Level::warning, "state", fmt::format("{}: {}", status->state, status->reason),
        "cellar drain --undo, if it drains and should not");
  }
  const int64_t now_us = session.now_us();
  look_at_certificate(all, status->certificate_expires_us, now_us);
  look_at_backups(all, session.client(), status->backup_directories, local, now_us);
}

// Whether every table was read and verified within twice the time that the node has for it.
void look_at_scrub(Findings& all, const Result<client::ReclaimReport>& report) {
  if (!report) return;
  int64_t oldest_us = INT64_MAX;
  std::string oldest;
  bool told = false;
  for (const client::TableReclaim& table : report->tables) {
    if (!table.verified) continue;
    told = true;
    if (table.verified->none || table.verified->since_us >= oldest_us) continue;
    oldest_us = table.verified->since_us;
    oldest = table.name;
  }
  if (!told) return;  // an older node, or no tables
  if (report->scrub_every_us == 0) {
    return add(all, Level::warning, "scrub",
               "tables.scrub_every is 0: damage of what nobody reads is not found",
               "remove the setting, or set it to 7d");
  }
  if (oldest.empty()) return add(all, Level::good, "scrub", "no files to verify");
  if (oldest_us == 0) {
    return add(all, Level::good, "scrub",
               fmt::format("not all files were read and verified yet: '{}'", oldest));
  }
  const int64_t age_us = std::max<int64_t>(report->now_us - oldest_us, 0);
  if (age_us > 2 * report->scrub_every_us) {
    return add(all, Level::warning, "scrub",
               fmt::format("a file of '{}' was last verified {} ago, though tables.scrub_every is "
                           "{}",
                           oldest, whole_days(age_us), format_duration(report->scrub_every_us)),
               "a file that is damaged or cannot be read is not verified: see the log; a store of "
               "several TB needs more than 7d");
  }
  add(all, Level::good, "scrub",
      fmt::format("every byte on disk was verified within the last {}", whole_days(age_us)));
}

void look_at_reclaim(Findings& all, const Result<client::ReclaimReport>& report) {
  if (!report) {
    if (report.error().code == Errc::unimplemented) return;  // an older node
    return add(all, Level::warning, "reclaim", report.error().message, "ask again");
  }
  std::vector<std::string> missed;
  int64_t longest_us = 0;
  uint64_t damaged = 0;
  for (const client::TableReclaim& table : report->tables) {
    const uint64_t scrubbed = table.verified ? table.verified->damaged_files : 0;
    damaged += std::max(table.figures.damaged_files, scrubbed);
    if (table.missed_since_us == 0) continue;
    missed.push_back(table.name);
    longest_us = std::max(longest_us, report->now_us - table.missed_since_us);
  }
  if (damaged > 0) {
    add(all, Level::problem, "damage",
        fmt::format("{} found damaged since the start: what they hold is refused with DATA_LOSS",
                    counted(damaged, "file")),
        "the log and cellar gc why name them; cellar-inspect verify reads all; restore the table "
        "from a backup");
  } else {
    add(all, Level::good, "damage", "no file was found damaged since the start");
  }
  if (missed.empty()) {
    return add(all, Level::good, "reclaim", "every table meets its reclaim deadline");
  }
  add(all, Level::warning, "reclaim",
      fmt::format("{} miss their reclaim deadline, by {} at most: '{}'{}",
                  counted(missed.size(), "table"), format_duration(longest_us), missed.front(),
                  missed.size() > 1 ? " and others" : ""),
      fmt::format("cellar gc why {} tells why, file by file", missed.front()));
}

bool is_local(const std::string& address) {
  return address.starts_with("127.") || address.starts_with("localhost:") ||
         address.starts_with("[::1]");
}

int report(const Session& session, const Findings& all) {
  Level worst = Level::good;
  for (const Finding& one : all) worst = std::max(worst, one.level);
  constexpr std::string_view kWords[] = {"ok", "warning", "problem"};
  for (const Finding& one : all) {
    const std::string_view level = kWords[static_cast<size_t>(one.level)];
    if (session.json) {
      session.console.print("{{\"level\":\"{}\",\"check\":{},\"what\":{},\"advice\":{}}}\n", level,
                            json_string(one.check), json_string(one.what), json_string(one.advice));
      continue;
    }
    session.console.print("{:<8} {:<8} {}\n", level, one.check, one.what);
    if (!one.advice.empty()) session.console.print("{:<17} -> {}\n", "", one.advice);
  }
  constexpr int kCodes[] = {kDone, kPartial, kFailed};
  return kCodes[static_cast<size_t>(worst)];
}

CommandResult doctor(Session& session, const Arguments& arguments) {
  if (arguments.count() == 1) return report(session, look_at_directory(arguments[0]));
  Findings all;
  const auto info = session.client().server_info();
  if (!info && exit_code_of(info.error()) == kRefused) {
    add(all, Level::problem, "role", info.error().message,
        "the node answers; ask as a principal with the role monitor on the prefix \"\" "
        "(--token-file, CELLAR_TOKEN_FILE)");
    report(session, all);
    return kRefused;
  }
  if (!info) {
    add(all, Level::problem, "reach", info.error().message,
        "is it started (systemctl status cellard), and does it listen there (listen, "
        "CELLAR_ADDR)?");
    report(session, all);
    return exit_code_of(info.error());
  }
  add(all, Level::good, "reach", fmt::format("{} answers", session.options.address));
  look_at_info(all, *info);
  TRY(const auto clock, session.client().clock());
  look_at_clock(all, clock);
  const Result<client::ReclaimReport> reclaim = ask_reclaim_figures(session);
  look_at_reclaim(all, reclaim);
  look_at_scrub(all, reclaim);
  std::error_code ignored;
  const bool local = is_local(session.options.address) && fs::exists(info->data_dir, ignored);
  look_at_operations(all, session, local);
  if (local) {
    look_at_format(all, info->data_dir);
    look_at_room(all, info->data_dir);
    look_at_cgroup(all, info->memory_bytes);
    look_at_descriptors(all, info->data_dir);
  } else {
    add(all, Level::good, "machine", "not this one: its disk and memory are not looked at");
  }
  return report(session, all);
}

}  // namespace

std::vector<Finding> look_at_directory(const std::string& directory) {
  Findings all;
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    add(all, Level::problem, "there", fmt::format("there is no directory '{}'", directory),
        "name the data_dir of the node");
    return all;
  }
  if (access(directory.c_str(), R_OK | X_OK) != 0) {
    add(all, Level::problem, "there", fmt::format("'{}' may not be read by you", directory),
        "run this as the node's user or as root");
    return all;
  }
  look_at_format(all, directory);
  if (!fs::exists(fs::path(directory) / "manifest" / "CURRENT", error)) {
    add(all, Level::problem, "store", "there is no manifest/CURRENT: no store, or not all of one",
        "a new node makes it; an old one is restored with cellard --restore-from");
  } else {
    add(all, Level::good, "store", "holds a store");
  }
  const bool locked = is_locked(fs::path(directory) / "LOCK");
  add(all, Level::good, "node",
      locked ? "a node has it open" : "no node has it open: cellar-inspect verify reads all of it");
  const fs::perms open = fs::status(directory, error).permissions() & fs::perms::others_all;
  if (open != fs::perms::none) {
    add(all, Level::warning, "rights", "others than its owner may look into it", "chmod 0700");
  }
  look_at_room(all, directory);
  return all;
}

std::vector<CommandSpec> doctor_commands() {
  return {CommandSpec(
      "doctor", "Node", "[DATA_DIR]", 0, 1, false, "Say what is wrong with a node, and what to do.",
      "Of the node at --addr: reachable, writes, clock, file backend, state, certificate, age "
      "of the\nnewest backup, damaged files, the last verification of all files, reclaim "
      "deadlines, and on this\nmachine disk, memory, format, open files. With DATA_DIR of a "
      "directory, whether or not its node runs.\nNeeds the role monitor on the prefix \"\".\n"
      "Exit code: 0 all well, 7 warnings, 1 a problem, 5 not reachable, 6 not permitted.",
      {}, {"cellar doctor", "cellar doctor --json", "cellar doctor /var/lib/cellar"}, &doctor)};
}

}  // namespace cellar::cli

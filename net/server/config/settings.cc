#include "net/server/config/settings.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <vector>

#include "io/loop/mailbox.h"
#include "io/net/transport.h"

namespace cellar::server {
namespace {

using Kind = Setting::Kind;
using Change = Setting::Change;
constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kGiB = 1024 * kMiB;
constexpr int64_t kTiB = 1024 * kGiB;
constexpr int64_t kMs = 1000;
constexpr int64_t kSecond = 1000 * kMs;
constexpr int64_t kDay = 86'400 * kSecond;

struct Unit {
  std::string_view name;
  int64_t factor;
};
constexpr Unit kSizes[] = {{"TiB", kTiB}, {"GiB", kGiB}, {"MiB", kMiB}, {"KiB", kKiB}, {"B", 1}};
constexpr Unit kDurations[] = {{"d", kDay},    {"h", 3600 * kSecond}, {"m", 60 * kSecond},
                               {"s", kSecond}, {"ms", kMs},           {"us", 1}};

Result<int64_t> parse_units(std::string_view text, std::span<const Unit> units,
                            std::string_view what) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view suffix(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error == std::errc() && number >= 0) {
    if (suffix.empty() && (number == 0 || units.back().name == "B")) return number;
    for (const Unit& unit : units) {
      int64_t value = 0;
      if (suffix == unit.name && !__builtin_mul_overflow(number, unit.factor, &value)) return value;
    }
  }
  return fail(Errc::invalid_argument, "'{}' is no {}", text, what);
}

std::string format_units(int64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) {
      return fmt::format("{}{}", value / unit.factor, unit.name);
    }
  }
  return fmt::format("{}", value);
}

template <class Field>
Setting number(std::string_view name, Kind kind, int64_t min, int64_t max, Field field,
               std::string_view help, Change change = Change::restart) {
  Setting s{name, kind, help, min, max, {}, {}, {}, {}, change};
  s.number_of = [field](const ServerOptions& o) {
    return static_cast<int64_t>(field(const_cast<ServerOptions&>(o)));
  };
  s.set_number = [field](ServerOptions& o, int64_t value) {
    auto& target = field(o);
    target = static_cast<std::remove_reference_t<decltype(target)>>(value);
  };
  return s;
}

// Origins as a browser writes them; they become part of a header.
Result<void> set_nodes(ServerOptions& options, std::string_view value) {
  constexpr std::string_view kHostBytes = "abcdefghijklmnopqrstuvwxyz0123456789.-:[]";
  std::string_view left = value;
  while (!left.empty()) {
    const size_t end = std::min(left.find(' '), left.size());
    std::string_view node = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (node.empty()) continue;
    const bool schemed = node.starts_with("http://") || node.starts_with("https://");
    const std::string_view host = schemed ? node.substr(node.find("//") + 2) : std::string_view();
    if (host.empty() || host.find_first_not_of(kHostBytes) != std::string_view::npos) {
      return fail(Errc::invalid_argument,
                  "'{}' is no origin of lower-case letters, as in http://127.0.0.1:7421", node);
    }
  }
  options.http.nodes = value;
  return {};
}

template <class Field>
Setting text(std::string_view name, Field field, std::string_view help,
             Change change = Change::restart) {
  Setting s{name, Kind::text, help, 0, 0, {}, {}, {}, {}, change};
  s.text_of = [field](const ServerOptions& o) { return field(const_cast<ServerOptions&>(o)); };
  s.set_text = [field](ServerOptions& o, std::string_view value) -> Result<void> {
    field(o) = value;
    return {};
  };
  return s;
}

constexpr std::array<std::pair<engine::IndexParts, std::string_view>, 3> kIndexParts{{
    {engine::IndexParts::automatic, "automatic"},
    {engine::IndexParts::always, "always"},
    {engine::IndexParts::never, "never"},
}};

std::string_view index_parts_name(engine::IndexParts wanted) {
  for (const auto& [parts, name] : kIndexParts)
    if (parts == wanted) return name;
  return "?";
}

Result<engine::IndexParts> parse_index_parts(std::string_view text) {
  for (const auto& [parts, name] : kIndexParts)
    if (name == text) return parts;
  return fail(Errc::invalid_argument, "'{}' is none of automatic, always, never", text);
}

// A setting with a fixed set of words; `name_of` and `parse` convert between word and value.
template <class Field, class Name, class Parse>
Setting choice(std::string_view name, Field field, Name name_of, Parse parse, std::string_view help,
               Change change = Change::restart) {
  Setting s{name, Kind::text, help, 0, 0, {}, {}, {}, {}, change};
  s.text_of = [field, name_of](const ServerOptions& o) {
    return std::string(name_of(field(const_cast<ServerOptions&>(o))));
  };
  s.set_text = [field, parse](ServerOptions& o, std::string_view value) -> Result<void> {
    TRY(field(o), parse(value));
    return {};
  };
  return s;
}

#define FIELD(member) [](ServerOptions& o) -> auto& { return o.member; }

void add_balance(std::vector<Setting>& all) {
  all.push_back(number("balance.enabled", Kind::flag, 0, 1, FIELD(balance.enabled),
                       "automatic split, merge and move of tablets", Change::reload));
  all.push_back(number("balance.interval", Kind::duration, 10 * kMs, 3600 * kSecond,
                       FIELD(balance.interval_us), "interval of the balancer's decisions",
                       Change::reload));
  all.push_back(number("balance.split", Kind::bytes, kMiB, kTiB, FIELD(balance.split_bytes),
                       "size at which a tablet is split", Change::reload));
  all.push_back(
      number("balance.early_split", Kind::bytes, 64 * kKiB, kTiB, FIELD(balance.early_split_bytes),
             "size at which a table with fewer tablets than shards is split", Change::reload));
  all.push_back(
      number("balance.early_load", Kind::count, 1, 1'000'000'000, FIELD(balance.early_split_load),
             "requests per second at which a table with fewer tablets than shards is split",
             Change::reload));
  all.push_back(number(
      "balance.merge_after", Kind::duration, kSecond, 365 * kDay, FIELD(balance.merge_idle_us),
      "time after which a tablet that has lost its data is merged with a neighbour",
      Change::reload));
  all.push_back(number("balance.per_minute", Kind::count, 1, 6000, FIELD(balance.per_minute),
                       "maximum number of splits, merges and moves per minute", Change::reload));
}

void add_backup(std::vector<Setting>& all) {
  all.push_back(text("backup.directories", FIELD(backup.directories),
                     "directories of the node that may hold backups, and rados:POOL or "
                     "rados:POOL/NAME in a Ceph cluster, separated by commas; none: backups are "
                     "disabled",
                     Change::reload));
  all.push_back(number("backup.every", Kind::duration, 0, 365 * kDay, FIELD(backup.every_us),
                       "time between backups that the node takes by itself; 0: none",
                       Change::reload));
  all.push_back(text("backup.into", FIELD(backup.into),
                     "directory or rados:POOL/NAME of these backups, within backup.directories",
                     Change::reload));
  all.push_back(number("backup.keep", Kind::count, 1, 10'000, FIELD(backup.keep),
                       "newest backups in backup.into that are kept when another was taken",
                       Change::reload));
  all.push_back(number("backup.keep_for", Kind::duration, 0, 3650 * kDay, FIELD(backup.keep_for_us),
                       "age beyond which these are not kept either, except the newest; 0: any age",
                       Change::reload));
  all.push_back(number("backup.rate", Kind::bytes, 0, kTiB, FIELD(backup.rate_bytes_per_s),
                       "bytes that a backup reads and writes per second; 0: unlimited",
                       Change::reload));
}

void add_ceph(std::vector<Setting>& all) {
  all.push_back(text("ceph.config", FIELD(ceph.config),
                     "ceph.conf of the cluster for backups in rados:POOL/NAME; none: no cluster",
                     Change::reload));
  all.push_back(text("ceph.client", FIELD(ceph.client),
                     "name of the node in that cluster, allowed to write the pools",
                     Change::reload));
}

void add_security(std::vector<Setting>& all) {
  all.push_back(
      number("security.insecure", Kind::flag, 0, 1, FIELD(security.insecure),
             "serve other machines without authentication: every client may do everything"));
  all.push_back(text("security.certificate", FIELD(security.certificate),
                     "PEM file of the node's certificate chain; enables TLS"));
  all.push_back(text("security.key", FIELD(security.key), "PEM file of the certificate's key"));
  all.push_back(text("security.client_ca", FIELD(security.client_ca),
                     "PEM file of the authorities that sign client certificates; enables "
                     "authentication by certificate"));
  all.push_back(
      text("security.principals", FIELD(security.principals),
           "TOML file of principals and their roles; without it clients are not authenticated"));
  all.push_back(number("security.audit_file", Kind::bytes, 64 * kKiB, kGiB,
                       FIELD(security.audit_file_bytes),
                       "size at which the security log begins another file"));
  all.push_back(number("security.audit_files", Kind::count, 1, 10'000, FIELD(security.audit_files),
                       "number of files of the security log that are kept"));
}

// "HOST:PORT", or empty for none.
template <class Field>
Setting optional_address(std::string_view name, Field field, std::string_view help) {
  Setting s = text(name, field, help);
  s.set_text = [field](ServerOptions& o, std::string_view value) -> Result<void> {
    if (!value.empty()) {
      TRY(const Address address, parse_address(value));
      (void)address;
    }
    field(o) = value;
    return {};
  };
  return s;
}

// Settings of a node behind a proxy.
void add_proxy(std::vector<Setting>& all) {
  all.push_back(optional_address("advertise", FIELD(advertise),
                                 "HOST:PORT at which clients reach this node, sent in the hello"));
  Setting trusted;
  trusted.name = "proxy.trusted";
  trusted.kind = Kind::text;
  trusted.help = "networks whose PROXY headers (version 2) are accepted, separated by commas";
  trusted.text_of = [](const ServerOptions& o) { return o.net.proxy.trusted.to_string(); };
  trusted.set_text = [](ServerOptions& o, std::string_view value) -> Result<void> {
    TRY(o.net.proxy.trusted, NetworkList::parse(value));
    return {};
  };
  all.push_back(std::move(trusted));
  all.push_back(number("proxy.required", Kind::flag, 0, 1, FIELD(net.proxy.required),
                       "connections from proxy.trusted must send a PROXY header"));
  Setting owners;
  owners.name = "cluster.owners";
  owners.kind = Kind::text;
  owners.help =
      "owners of tables, as TABLE=HOST:PORT or PREFIX*=HOST:PORT with the advertise of the node";
  owners.text_of = [](const ServerOptions& o) { return o.owners.to_string(); };
  owners.set_text = [](ServerOptions& o, std::string_view value) -> Result<void> {
    TRY(o.owners, TableOwners::parse(value));
    return {};
  };
  all.push_back(std::move(owners));
  all.push_back(optional_address("agent.listen", FIELD(agent_listen),
                                 "HOST:PORT that answers a proxy's agent check; empty: none"));
}

void add_memory(std::vector<Setting>& all) {
  all.push_back(number("memory.total", Kind::bytes, 64 * kMiB, kTiB, FIELD(engine.memory_bytes),
                       "memory for memtables, caches and table metadata"));
  all.push_back(number("memory.memtable", Kind::bytes, 64 * kKiB, kGiB,
                       FIELD(engine.memtable_bytes), "size at which a memtable is flushed"));
  all.push_back(number("memory.row_cache", Kind::count, 0, 25, FIELD(engine.row_cache_percent),
                       "percent of memory.total for results of point reads of hot rows; 0: none"));
}

std::vector<Setting> make_settings() {
  std::vector<Setting> all;
  all.push_back(text("data_dir", FIELD(data_dir), "data directory; created if absent"));
  all.push_back(
      text("listen", FIELD(listen), "HOST:PORT to listen on; port 0 chooses a free port"));
  add_proxy(all);
  all.push_back(number("shards", Kind::count, 0, Mailbox::kMaxShards, FIELD(shards),
                       "number of shards, one core each; 0: one per core"));
  all.push_back(number("pin", Kind::flag, 0, 1, FIELD(pin),
                       "pin each shard to a core of its own if there are enough cores"));
  all.push_back(number("drain_within", Kind::duration, 0, 600 * kSecond, FIELD(net.drain_within_us),
                       "how long a stopping node reports that it drains and continues to serve; "
                       "less if no client is connected",
                       Change::reload));
  all.push_back(number("slow_request", Kind::duration, 0, 600 * kSecond, FIELD(net.slow_request_us),
                       "a request that took this long is logged with its stages; 0: none",
                       Change::reload));
  all.push_back(text("http.listen", FIELD(http.listen),
                     "HOST:PORT for health, metrics, admin API and console; empty: none"));
  all.push_back(
      text("http.hosts", FIELD(http.hosts),
           "host names that HTTP requests may have, in addition to addresses and localhost"));
  Setting nodes = text("http.nodes", FIELD(http.nodes),
                       "http://HOST:PORT of the nodes, as browsers reach them, whose consoles may "
                       "show this node and which this node's console shows, separated by blanks");
  nodes.set_text = set_nodes;
  all.push_back(std::move(nodes));
  all.push_back(choice("io.backend", FIELD(io), io_backend_name, parse_io_backend,
                       "I/O backend: auto, io_uring, threads"));
  all.push_back(choice("io.sockets", FIELD(sockets), socket_backend_name, parse_socket_backend,
                       "what waits for the bytes of connections: auto (io_uring, where files use "
                       "it), io_uring, epoll"));
  add_memory(all);
  all.push_back(number("log.periodic_interval", Kind::duration, kMs, 60 * kSecond,
                       FIELD(engine.periodic_interval_us),
                       "time within which 'periodic' writes are on disk"));
  all.push_back(number("log.segment", Kind::bytes, kMiB, kGiB, FIELD(engine.log_segment_bytes),
                       "size of a log segment"));
  all.push_back(number("tables.bytes", Kind::bytes, kMiB, 16 * kGiB, FIELD(engine.table_bytes),
                       "size at which compaction ends a table on disk and begins the next one"));
  all.push_back(choice("tables.index_parts", FIELD(engine.index_parts), index_parts_name,
                       parse_index_parts,
                       "partitioned index and filters of tables, loaded on demand: automatic (once "
                       "whole ones take a quarter of the cache), always, never"));
  all.push_back(number("tables.scrub_every", Kind::duration, 0, 365 * kDay,
                       FIELD(engine.scrub_every_us),
                       "time within which every table on disk is read and its checksums are "
                       "verified, at a bounded rate; 0: never"));
  all.push_back(number("disk.reserve", Kind::bytes, 0, kTiB, FIELD(disk.reserve_bytes),
                       "free disk space below which only writes that free space are accepted; the "
                       "rest is for reclaiming; 0: none",
                       Change::reload));
  all.push_back(number("clock.max_trusted_gap", Kind::duration, 0, 3650 * kDay,
                       FIELD(engine.max_trusted_gap_us),
                       "time that may pass during a reboot of the machine without being held"));
  all.push_back(number("tokens.window", Kind::duration, kSecond, kDay,
                       FIELD(engine.token_window_us),
                       "time within which a write repeated with its token gets its first answer"));
  all.push_back(number("tokens.memory", Kind::bytes, 64 * kKiB, kTiB, FIELD(engine.token_bytes),
                       "memory for tokens; at most an eighth of memory.total is used"));
  add_balance(all);
  all.push_back(number("limits.cell", Kind::bytes, kKiB, 100 * kMiB,
                       FIELD(engine.limits.cell_bytes), "largest value of a cell"));
  all.push_back(number("limits.row", Kind::bytes, kKiB, 120 * kMiB, FIELD(engine.limits.row_bytes),
                       "largest mutation of a row"));
  all.push_back(number("limits.in_flight", Kind::count, 1, wire::kMaxInFlight, FIELD(net.in_flight),
                       "maximum number of unanswered requests of a connection", Change::reload));
  all.push_back(number("limits.connections", Kind::count, 1, 1'000'000, FIELD(net.connections),
                       "maximum number of connections of a shard", Change::reload));
  all.push_back(number("timeouts.idle", Kind::duration, 0, 30 * kDay, FIELD(net.idle_timeout_us),
                       "time after which an idle connection is closed; 0: never", Change::reload));
  all.push_back(number("timeouts.handshake", Kind::duration, kMs, 600 * kSecond,
                       FIELD(net.handshake_timeout_us),
                       "time within which preface and hello must arrive", Change::reload));
  all.push_back(number("timeouts.stall", Kind::duration, kMs, 600 * kSecond,
                       FIELD(net.stall_timeout_us),
                       "time after which a connection is closed if a partly received frame "
                       "averages less than 1 KiB/s, or if the client receives none of its answers",
                       Change::reload));
  all.push_back(number("timeouts.drain", Kind::duration, 0, 600 * kSecond,
                       FIELD(net.drain_timeout_us),
                       "how long a stopping node waits for requests in flight", Change::reload));
  add_backup(all);
  add_ceph(all);
  all.push_back(choice("log.level", FIELD(log.level), log_level_name, parse_log_level,
                       "log level: debug, info, warn, error, off", Change::reload));
  all.push_back(choice("log.format", FIELD(log.format), log_format_name, parse_log_format,
                       "format of log lines: text (logfmt), json", Change::reload));
  add_security(all);
  return all;
}

#undef FIELD

std::string format_number(Kind kind, int64_t value) {
  switch (kind) {
    case Kind::bytes:
      return format_size(value);
    case Kind::duration:
      return format_duration(value);
    case Kind::flag:
      return value != 0 ? "true" : "false";
    default:
      return fmt::format("{}", value);
  }
}

Result<int64_t> parse_number(Kind kind, std::string_view value) {
  switch (kind) {
    case Kind::bytes:
      return parse_size(value);
    case Kind::duration:
      return parse_duration_us(value);
    case Kind::flag:
      if (value == "true" || value == "false") return value == "true" ? 1 : 0;
      return fail(Errc::invalid_argument, "'{}' is neither true nor false", value);
    default: {
      int64_t number = 0;
      const char* const last = value.data() + value.size();
      const auto [end, error] = std::from_chars(value.data(), last, number);
      if (error == std::errc() && end == last) return number;
      return fail(Errc::invalid_argument, "'{}' is no number", value);
    }
  }
}

}  // namespace

std::span<const Setting> settings() {
  static const std::vector<Setting> all = make_settings();
  return all;
}

const Setting* find_setting(std::string_view name) {
  for (const Setting& setting : settings()) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

std::string_view nearest_setting(std::string_view name) {
  const auto all = settings();
  return std::min_element(all.begin(), all.end(),
                          [name](const Setting& a, const Setting& b) {
                            return edit_distance(a.name, name) < edit_distance(b.name, name);
                          })
      ->name;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string flag_of(const Setting& setting) {
  std::string flag = "--";
  for (const char c : setting.name) flag.push_back(c == '.' || c == '_' ? '-' : c);
  return flag;
}

std::string variable_of(const Setting& setting) {
  std::string name = "CELLAR_";
  for (const char c : setting.name) {
    name.push_back(c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  }
  return name;
}

std::string value_of(const Setting& setting, const ServerOptions& options) {
  if (setting.kind == Kind::text) return setting.text_of(options);
  return format_number(setting.kind, setting.number_of(options));
}

std::string default_of(const Setting& setting) { return value_of(setting, ServerOptions()); }

std::string bounds_of(const Setting& setting) {
  if (setting.kind == Kind::text || setting.kind == Kind::flag) return {};
  return fmt::format("{} to {}", format_number(setting.kind, setting.min),
                     format_number(setting.kind, setting.max));
}

std::string_view kind_name(Kind kind) {
  constexpr std::string_view kNames[] = {"text", "true or false", "count", "size", "duration"};
  return kNames[static_cast<size_t>(kind)];
}

Result<void> apply(const Setting& setting, std::string_view value, ServerOptions& options) {
  if (setting.kind == Kind::text) {
    auto set = setting.set_text(options, value);
    if (set) return set;
    return fail(Errc::invalid_argument, "{}: {}", setting.name, set.error().message);
  }
  const Result<int64_t> number = parse_number(setting.kind, value);
  if (!number) {
    return fail(Errc::invalid_argument, "{}: {}", setting.name, number.error().message);
  }
  return apply(setting, *number, options);
}

Result<void> apply(const Setting& setting, int64_t value, ServerOptions& options) {
  if (value < setting.min || value > setting.max) {
    return fail(Errc::invalid_argument, "{}: {} is outside {} to {}", setting.name,
                format_number(setting.kind, value), format_number(setting.kind, setting.min),
                format_number(setting.kind, setting.max));
  }
  setting.set_number(options, value);
  return {};
}

Result<int64_t> parse_size(std::string_view text) {
  return parse_units(text, kSizes, "size (as in 64MiB)");
}
Result<int64_t> parse_duration_us(std::string_view text) {
  return parse_units(text, kDurations, "duration (as in 100ms)");
}
std::string format_size(int64_t bytes) { return format_units(bytes, kSizes); }
std::string format_duration(int64_t us) { return format_units(us, kDurations); }

}  // namespace cellar::server

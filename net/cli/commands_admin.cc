#include "net/cli/columns.h"
#include "net/cli/commands.h"
#include "net/cli/json_rows.h"
#include "net/cli/parse_words.h"
#include "net/cli/printer.h"
#include "net/cli/times.h"

namespace cellar::cli {

Result<Granularity> parse_granularity(const std::string& name) {
  if (name == "millis") return Granularity::millis;
  if (name == "micros") return Granularity::micros;
  return fail(Errc::invalid_argument, "granularity={} is neither millis nor micros", name);
}

Result<Durability> parse_durability(const std::string& name) {
  if (name == "sync") return Durability::sync;
  if (name == "periodic") return Durability::periodic;
  if (name == "memory") return Durability::memory;
  return fail(Errc::invalid_argument, "durability={} is none of sync, periodic, memory", name);
}

Result<client::Compression> parse_compression(const std::string& name) {
  if (name == "none") return client::Compression::none;
  if (name == "lz4") return client::Compression::lz4;
  return fail(Errc::invalid_argument, "compression={} is neither none nor lz4", name);
}

namespace {

// What a command that changes something says when it worked.
int done(const Session& session, std::string_view sentence, const std::string& name) {
  if (session.json) {
    session.console.print("{{\"ok\":true,\"table\":{}}}\n", json_string(name));
  } else if (session.console.out_is_terminal) {
    session.console.print("{} {}\n", sentence, name);
  }
  return kDone;
}

Result<client::TableOptions> table_options(const Arguments& arguments) {
  client::TableOptions options;
  if (const std::string* name = arguments.find("durability")) {
    TRY(options.durability, parse_durability(*name));
  }
  if (const std::string* name = arguments.find("compression")) {
    TRY(options.compression, parse_compression(*name));
  }
  if (arguments.has("block-bytes")) {
    TRY(const uint64_t bytes, arguments.number("block-bytes", 0));
    if (bytes > UINT32_MAX) {
      return fail(Errc::invalid_argument, "block-bytes={} is too large", bytes);
    }
    options.block_bytes = static_cast<uint32_t>(bytes);
  }
  return options;
}

Result<client::TableSpec> table_spec(const Session& session, const Arguments& arguments) {
  client::TableSpec spec;
  spec.name = arguments[0];
  for (const char* key : {"families", "family"}) {
    for (std::string& name : split_list(arguments.get(key))) {
      spec.families.emplace_back().name = std::move(name);
    }
  }
  for (const std::string& split : split_list(arguments.get("splits"))) {
    TRY(std::string key, session.input(split));
    spec.splits.push_back(std::move(key));
  }
  if (const std::string* name = arguments.find("granularity")) {
    TRY(spec.granularity, parse_granularity(*name));
  }
  TRY(spec.options, table_options(arguments));
  return spec;
}

Result<client::TableChange> option_change(const Arguments& arguments) {
  client::TableChange change;
  change.name = arguments[0];
  TRY(change.options, table_options(arguments));
  if (!change.options.durability && !change.options.compression && !change.options.block_bytes) {
    return fail(Errc::invalid_argument,
                "altertable needs durability=, compression= or block-bytes=");
  }
  return change;
}

}  // namespace

int create_table(Session& session, const Arguments& arguments) {
  const auto spec = table_spec(session, arguments);
  if (!spec) return session.usage(spec.error());
  const auto created = session.client().create_table(*spec);
  if (!created) return session.fail(created.error());
  return done(session, "created", arguments[0]);
}

int create_family(Session& session, const Arguments& arguments) {
  client::TableChange change;
  change.name = arguments[0];
  change.add.emplace_back().name = arguments[1];
  const auto changed = session.client().alter_table(change);
  if (!changed) return session.fail(changed.error());
  return done(session, "changed", arguments[0]);
}

int drop_family(Session& session, const Arguments& arguments) {
  client::TableChange change;
  change.name = arguments[0];
  change.drop.push_back(arguments[1]);
  const auto changed = session.client().alter_table(change);
  if (!changed) return session.fail(changed.error());
  return done(session, "changed", arguments[0]);
}

int alter_table(Session& session, const Arguments& arguments) {
  const auto change = option_change(arguments);
  if (!change) return session.usage(change.error());
  const auto changed = session.client().alter_table(*change);
  if (!changed) return session.fail(changed.error());
  return done(session, "changed", arguments[0]);
}

int delete_table(Session& session, const Arguments& arguments) {
  const auto dropped = session.client().drop_table(arguments[0]);
  if (!dropped) return session.fail(dropped.error());
  return done(session, "deleted", arguments[0]);
}

int list(Session& session, const Arguments& arguments) {
  if (arguments.count() == 1) {
    const auto table = session.client().describe_table(arguments[0]);
    if (!table) return session.fail(table.error());
    print_table(session, *table);
    return kDone;
  }
  const auto tables = session.client().list_tables();
  if (!tables) return session.fail(tables.error());
  print_tables(session, *tables);
  return kDone;
}

int sample_keys(Session& session, const Arguments& arguments) {
  const auto samples = session.client().sample_row_keys(arguments[0]);
  if (!samples) return session.fail(samples.error());
  print_samples(session, *samples);
  return kDone;
}

int flush(Session& session, const Arguments& arguments) {
  const auto flushed = session.client().flush_table(arguments[0]);
  if (!flushed) return session.fail(flushed.error());
  return done(session, "flushed", arguments[0]);
}

int compact(Session& session, const Arguments& arguments) {
  const auto compacted = session.client().compact_table(arguments[0]);
  if (!compacted) return session.fail(compacted.error());
  return done(session, "compacted", arguments[0]);
}

int info(Session& session, const Arguments&) {
  const auto node = session.client().server_info();
  if (!node) return session.fail(node.error());
  print_info(session, *node);
  return kDone;
}

int ping(Session& session, const Arguments& arguments) {
  const auto times = arguments.number("count", 1);
  if (!times) return session.usage(times.error());
  // The first answer also waits for the connection, so that one is made before.
  const auto connected = session.client().ping();
  if (!connected) return session.fail(connected.error());
  for (uint64_t i = 0; i < *times; ++i) {
    const int64_t began_us = session.clock.boot_us();
    const auto pong = session.client().ping();
    if (!pong) return session.fail(pong.error());
    const int64_t took_us = session.clock.boot_us() - began_us;
    if (session.json) {
      session.console.print("{{\"addr\":{},\"round_trip_us\":{},\"now_us\":{}}}\n",
                            json_string(session.options.address), took_us, pong->now_us);
    } else {
      session.console.print("{} answered in {}; its time is {}\n", session.options.address,
                            format_duration(took_us), format_time(pong->now_us));
    }
  }
  return kDone;
}

}  // namespace cellar::cli

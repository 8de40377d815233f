#include "net/cli/print/write_report.h"

#include <optional>

#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

using Operation = client::Mutation::Operation;
using Kind = client::Mutation::Kind;

constexpr size_t kWidestValue = 60;  // in bytes; a longer one is cut

// Cuts between two characters.
std::string cut(std::string value) {
  if (value.size() <= kWidestValue) return value;
  size_t at = kWidestValue;
  while (at > 0 && (static_cast<unsigned char>(value[at]) & 0xC0) == 0x80) --at;
  value.resize(at);
  return value + "...";
}

std::string versions_text(const Session& session, const Operation& operation) {
  if (!operation.start_us && !operation.end_us) return "all versions";
  std::string text = "versions";
  if (operation.start_us) text += " from " + session.show_timestamp(*operation.start_us);
  if (operation.end_us) text += " to before " + session.show_timestamp(*operation.end_us);
  return text;
}

std::string set_text(const Session& session, const client::Mutation& mutation, const Operation& set,
                     const Committed& committed) {
  const std::optional<int64_t> at_us =
      set.timestamp_us
          ? set.timestamp_us
          : (committed.repeated ? std::nullopt : std::optional(committed.timestamp_us));
  std::string text = fmt::format("set {}:{}  {}  {}", session.show(mutation.bytes(set.family)),
                                 session.show(mutation.bytes(set.qualifier)),
                                 at_us ? session.show_timestamp(*at_us) : "at server time",
                                 cut(session.show_value(mutation.bytes(set.value))));
  if (set.ttl_us) text += "  ttl " + exact_duration(*set.ttl_us);
  if (set.expire_at_us) text += "  expires at " + session.show_timestamp(*set.expire_at_us);
  return text;
}

std::string operation_text(const Session& session, const client::Mutation& mutation,
                           const Operation& operation, const Committed& committed) {
  switch (operation.kind) {
    case Kind::set:
      return set_text(session, mutation, operation, committed);
    case Kind::delete_column:
      return fmt::format("deleted {}:{}, {}", session.show(mutation.bytes(operation.family)),
                         session.show(mutation.bytes(operation.qualifier)),
                         versions_text(session, operation));
    case Kind::delete_family:
      return fmt::format("deleted family {}", session.show(mutation.bytes(operation.family)));
    case Kind::delete_row:
      break;
  }
  return "deleted the row";
}

}  // namespace

std::string commit_line(const Committed& committed) {
  if (committed.repeated) return "committed before, under the same token\n";
  if (committed.stamp_ns == 0) return "";
  return fmt::format("committed at {}\n",
                     format_time(static_cast<int64_t>(committed.stamp_ns / 1000)));
}

void print_write(const Session& session, Bytes row, const client::Mutation& mutation,
                 const Committed& committed) {
  const Console& console = session.console;
  std::string out = console.styled(Style::bold, session.show_key(row)) + "\n";
  for (const Operation& operation : mutation.operations()) {
    out += "  " + operation_text(session, mutation, operation, committed) + "\n";
  }
  console.write(out + commit_line(committed));
}

std::string write_json(const Session& session, Bytes row, const client::Mutation& mutation,
                       const Committed& committed) {
  std::string out = fmt::format(",{},\"operations\":{}", json_field("row", row, session.key_form),
                                mutation.operations().size());
  if (committed.repeated) return out + ",\"repeated\":true";
  return out + fmt::format(",\"commit_stamp\":\"{}\",\"timestamp\":{}", committed.stamp_ns,
                           committed.timestamp_us);
}

}  // namespace cellar::cli

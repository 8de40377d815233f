#include "net/cli/print/index_format.h"

#include <algorithm>

#include "net/cli/parse/index_syntax.h"
#include "net/cli/print/printer.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

using client::IndexColumn;
using client::IndexDescription;
using client::IndexPart;
using client::IndexSpec;
using client::IndexType;

bool has_values(const IndexSpec& index) {
  return std::ranges::find(index.parts, IndexPart::value) != index.parts.end();
}

// "value,time (int64)"
std::string order_text(const IndexSpec& index) {
  std::string text;
  for (const IndexPart part : index.parts) {
    text += text.empty() ? "" : ",";
    text += name_of(part);
  }
  const IndexType type = index.type.value_or(IndexType::bytes);
  if (has_values(index) && type != IndexType::bytes) text += fmt::format(" ({})", name_of(type));
  return text;
}

std::string place_text(const Session& session, const IndexSpec& index) {
  return index.qualifier ? index.family + ":" + session.show(*index.qualifier) : index.family;
}

std::string covered_text(const Session& session, const IndexSpec& index) {
  std::string text;
  for (const IndexColumn& column : index.covered) {
    text += (text.empty() ? "" : ", ") + column.family + ":" + session.show(column.qualifier);
  }
  return text.empty() ? "none" : text;
}

std::string age_text(const IndexSpec& index) {
  return index.max_age_us ? exact_duration(*index.max_age_us) : "none";
}

std::string_view answer_of(const IndexSpec& index) {
  return name_of(index.tighter_base.value_or(client::TighterBase::follow));
}

std::string column_json(const IndexColumn& column) {
  return "{" + json_field("family", column.family) + "," +
         json_field("qualifier", column.qualifier) + "}";
}

}  // namespace

std::string index_json(const IndexSpec& index) {
  std::string out =
      fmt::format("\"index\":{},{}", json_string(index.name), json_field("family", index.family));
  if (index.qualifier) out += "," + json_field("qualifier", *index.qualifier);
  out += ",\"order\":" + json_list(index.parts, [](IndexPart part) {
           return fmt::format("\"{}\"", name_of(part));
         });
  if (has_values(index)) {
    out += fmt::format(",\"type\":\"{}\"", name_of(index.type.value_or(IndexType::bytes)));
  }
  out += fmt::format(",\"match\":\"{}\",\"covered\":{}", name_of(index.match),
                     json_list(index.covered, column_json));
  if (index.max_age_us) out += fmt::format(",\"max_age_us\":{}", *index.max_age_us);
  return out + fmt::format(",\"tighter_base\":\"{}\"", answer_of(index));
}

std::string index_state_json(const IndexDescription& index) {
  return index_json(index.index) +
         fmt::format(
             ",\"ready\":{},\"done_bytes\":{},\"total_bytes\":{},\"entries\":{},"
             "\"bytes\":{},\"skipped\":{}",
             index.ready, index.done_bytes, index.total_bytes, index.entries, index.bytes,
             index.skipped);
}

Lines index_lines(const Session& session, const std::vector<IndexSpec>& indexes) {
  Lines lines = {{"INDEX", "ON", "ORDER", "MATCH", "MAX AGE", "TIGHTER BASE", "COVERED"}};
  for (const IndexSpec& index : indexes) {
    lines.push_back({index.name, place_text(session, index), order_text(index),
                     std::string(name_of(index.match)), age_text(index),
                     std::string(answer_of(index)), covered_text(session, index)});
  }
  return lines;
}

double index_share_done(const IndexDescription& index) {
  if (index.ready) return 1;
  if (index.total_bytes == 0) return 0;
  return std::min(1.0,
                  static_cast<double>(index.done_bytes) / static_cast<double>(index.total_bytes));
}

std::string index_state_text(const IndexDescription& index) {
  if (index.ready) return "ready";
  return fmt::format("{:.0f}% built", std::min(99.0, 100 * index_share_done(index)));
}

std::vector<std::string> index_state_headings() {
  return {"TABLE", "INDEX", "ON", "ORDER", "MATCH", "MAX AGE", "STATE", "ENTRIES", "SIZE"};
}

std::vector<std::string> index_state_line(const Session& session, const std::string& table,
                                          const IndexDescription& index) {
  return {table,
          index.index.name,
          place_text(session, index.index),
          order_text(index.index),
          std::string(name_of(index.index.match)),
          age_text(index.index),
          index_state_text(index),
          with_commas(index.entries),
          human_bytes(index.bytes)};
}

void print_index(const Session& session, const std::string& table, const IndexDescription& index) {
  if (session.json) {
    session.console.print("{{\"table\":{},{}}}\n", json_string(table), index_state_json(index));
    return;
  }
  const Console& console = session.console;
  const IndexSpec& spec = index.index;
  Lines lines = {{"on", place_text(session, spec)}, {"order", order_text(spec)}};
  lines.push_back({"match", fmt::format("{} version", name_of(spec.match))});
  lines.push_back({"covered", covered_text(session, spec)});
  lines.push_back({"max age", age_text(spec)});
  lines.push_back({"tighter base", std::string(answer_of(spec))});
  std::string state = index_state_text(index);
  if (!index.ready) {
    state += fmt::format(", {} of {}; reads are refused until it is ready",
                         human_bytes(index.done_bytes), human_bytes(index.total_bytes));
  }
  lines.push_back({"state", state});
  lines.push_back({"entries", fmt::format("{} on disk, {}", with_commas(index.entries),
                                          human_bytes(index.bytes))});
  if (index.skipped > 0) {
    lines.push_back(
        {"left out", fmt::format("{} whose value is not 8 bytes", counted(index.skipped, "cell"))});
  }
  console.print("{}\n{}", console.styled(Style::bold, fmt::format("{} of {}", spec.name, table)),
                aligned(lines, 2));
}

void print_index_check(const Session& session, const client::CheckIndex& asked,
                       const client::IndexCheck& told) {
  if (session.json) {
    const auto sample = [&](const std::string& row) {
      return "{" + json_field("row", row, session.key_form) + "}";
    };
    session.console.print(
        "{{\"table\":{},\"index\":{},\"equal\":{},\"rows\":{},\"cells\":{},\"entries\":{},"
        "\"hits\":{},\"missing\":{},\"wrong\":{},\"samples\":{}}}\n",
        json_string(asked.table), json_string(asked.name), told.equal(), told.rows_seen, told.cells,
        told.entries, told.hits, told.missing, told.wrong, json_list(told.samples, sample));
    return;
  }
  const std::string seen =
      fmt::format("{} in {}", counted(told.cells, "cell"), counted(told.rows_seen, "row"));
  if (told.equal()) {
    session.console.print("index {} of {} finds what a scan finds: {}\n", asked.name, asked.table,
                          seen);
    return;
  }
  Lines lines = {{"missing", counted(told.missing, "cell") + " that a scan finds"},
                 {"wrong", counted(told.wrong, "hit") + " that no scan finds"},
                 {"of", seen}};
  std::string rows;
  for (const std::string& row : told.samples) {
    rows += (rows.empty() ? "" : ", ") + session.show_key(row);
  }
  if (!rows.empty()) lines.push_back({"such as", rows});
  session.console.print("index {} of {} differs from its table\n{}", asked.name, asked.table,
                        aligned(lines, 2));
}

}  // namespace cellar::cli

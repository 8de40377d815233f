#include "engine/inspect/dump.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "engine/model/token.h"

namespace cellar::engine {
namespace {

constexpr size_t kBytesPerLine = 16;
constexpr size_t kMaxShownBytes = 256;  // of one field in text output

std::string hex(Bytes bytes) {
  std::string out;
  for (char c : bytes) {
    out += fmt::format("{}{:02x}", out.empty() ? "" : " ", static_cast<unsigned char>(c));
  }
  return out;
}

// An export's description is printed as it is in the file, and a terminal would obey its control
// bytes.
std::string without_controls(Bytes text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
  }
  return out;
}

class TextDump : public Dump {
 public:
  explicit TextDump(std::ostream& out) : out_(out) {}

  void begin_file(Bytes name, Bytes kind) override { out_ << name << ": " << kind << "\n"; }
  void section(uint64_t offset, uint64_t size, Bytes title) override {
    out_ << fmt::format("\n{:08x}  {}, {} bytes\n", offset, title, size);
  }
  void field(uint64_t offset, Bytes bytes, Bytes label) override {
    const Bytes shown = bytes.substr(0, kMaxShownBytes);
    out_ << fmt::format("  {:06x}  {:<{}}  {}\n", offset, hex(shown.substr(0, kBytesPerLine)),
                        3 * kBytesPerLine - 1, without_controls(label));
    for (size_t at = kBytesPerLine; at < shown.size(); at += kBytesPerLine) {
      const bool cut = at + kBytesPerLine >= shown.size() && shown.size() < bytes.size();
      out_ << fmt::format("  {:06x}  {}{}\n", offset + at, hex(shown.substr(at, kBytesPerLine)),
                          cut ? " ..." : "");
    }
  }
  void note(Bytes sentence) override { out_ << "note: " << sentence << "\n"; }

 protected:
  void show_problem(Bytes sentence) override { out_ << "PROBLEM: " << sentence << "\n"; }
  std::ostream& out_;
};

class JsonDump : public Dump {
 public:
  explicit JsonDump(std::ostream& out) : out_(out) {}

  void begin_file(Bytes name, Bytes kind) override {
    line({{"file", view(name)}, {"kind", view(kind)}});
  }
  void section(uint64_t offset, uint64_t size, Bytes title) override {
    line({{"section", view(title)}, {"offset", offset}, {"size", size}});
  }
  void field(uint64_t offset, Bytes bytes, Bytes label) override {
    line({{"field", view(label)}, {"offset", offset}, {"hex", hex(bytes)}});
  }
  void note(Bytes sentence) override { line({{"note", view(sentence)}}); }

 protected:
  void show_problem(Bytes sentence) override { line({{"problem", view(sentence)}}); }

 private:
  static boost::json::string_view view(Bytes b) { return {b.data(), b.size()}; }
  void line(boost::json::object object) { out_ << boost::json::serialize(object) << "\n"; }
  std::ostream& out_;
};

// Prints the file and its problems.
template <class Form>
class ProblemsOnly final : public Form {
 public:
  using Form::Form;
  void section(uint64_t /*offset*/, uint64_t /*size*/, Bytes /*title*/) override {}
  void field(uint64_t /*offset*/, Bytes /*bytes*/, Bytes /*label*/) override {}
};

}  // namespace

namespace {

class OnlyEntries final : public Dump {
 public:
  explicit OnlyEntries(Dump& to) : to_(to) {}

  void begin_file(Bytes name, Bytes kind) override { to_.begin_file(name, kind); }
  void section(uint64_t offset, uint64_t size, Bytes title) override {
    offset_ = offset;
    size_ = size;
    title_.assign(title);
  }
  void field(uint64_t /*offset*/, Bytes /*bytes*/, Bytes /*label*/) override {}
  void entry(uint64_t offset, Bytes bytes, Bytes label) override {
    if (!title_.empty()) to_.section(offset_, size_, title_);
    title_.clear();
    to_.field(offset, bytes, label);
  }
  void note(Bytes sentence) override { to_.note(sentence); }

 protected:
  void show_problem(Bytes sentence) override { to_.problem(sentence); }

 private:
  Dump& to_;
  uint64_t offset_ = 0;
  uint64_t size_ = 0;
  std::string title_;  // of the section that was not printed yet; empty: it was
};

}  // namespace

std::unique_ptr<Dump> only_entries(Dump& to) { return std::make_unique<OnlyEntries>(to); }

std::unique_ptr<Dump> make_dump(DumpForm form, std::ostream& out) {
  switch (form) {
    case DumpForm::text:
      return std::make_unique<TextDump>(out);
    case DumpForm::json:
      return std::make_unique<JsonDump>(out);
    case DumpForm::problems_only:
      return std::make_unique<ProblemsOnly<TextDump>>(out);
    case DumpForm::problems_json:
      return std::make_unique<ProblemsOnly<JsonDump>>(out);
  }
  return nullptr;
}

namespace {

std::string describe_token(const ParsedKey& k, Bytes value) {
  std::string scratch;
  std::string id_scratch;
  Bytes client;
  Bytes token;
  TokenRecord record;
  if (!split_token_id(decode_segment(k.escaped_qualifier, id_scratch), client, token) ||
      !parse_token_record(value, record)) {
    return "malformed token";
  }
  return fmt::format(
      "token \"{}\" \"{}\" of client \"{}\" stamp {} until {}, content {:016x}{:016x}",
      escape_bytes(decode_segment(k.escaped_row, scratch)), escape_bytes(token),
      escape_bytes(client), k.stamp, record.until_us, record.content.high, record.content.low);
}

}  // namespace

std::string describe_entry(Bytes key, Bytes value) {
  ParsedKey k;
  if (!parse_key(key, k)) return fmt::format("malformed key {}", escape_bytes(key));
  if (k.kind == EntryKind::token) return describe_token(k, value);
  std::string scratch;
  std::string place = fmt::format("\"{}\"", escape_bytes(decode_segment(k.escaped_row, scratch)));
  if (k.kind != EntryKind::row_delete) place += fmt::format(" {}", escape_bytes(k.family));
  if (k.kind == EntryKind::cell || k.kind == EntryKind::column_delete) {
    place += fmt::format(":\"{}\"", escape_bytes(decode_segment(k.escaped_qualifier, scratch)));
  }
  switch (k.kind) {
    case EntryKind::row_delete:
      return fmt::format("row delete {} stamp {}", place, k.stamp);
    case EntryKind::family_delete:
      return fmt::format("family delete {} stamp {}", place, k.stamp);
    case EntryKind::column_delete:
      return fmt::format("column delete {} [{}, {}) stamp {}", place, k.start_us, k.end_us,
                         k.stamp);
    case EntryKind::cell:
    case EntryKind::token:
      break;
  }
  CellValue cell;
  if (!parse_cell_value(value, cell)) {
    return fmt::format("cell {} with a malformed value", place);
  }
  const std::string expiry =
      cell.expire_at_us == kNoExpiry ? "" : fmt::format(" expires {}", cell.expire_at_us);
  if (cell.tombstone) {
    return fmt::format("tombstone {} at {} stamp {}{}", place, k.timestamp_us, k.stamp, expiry);
  }
  return fmt::format("cell {} at {} stamp {}{} = \"{}\"", place, k.timestamp_us, k.stamp, expiry,
                     escape_bytes(cell.value));
}

}  // namespace cellar::engine

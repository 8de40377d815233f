#include "net/security/audit_chain.h"

#include <optional>

#include <boost/json.hpp>

namespace cellar::security {
namespace {

namespace json = boost::json;

struct Head {
  uint64_t sequence = 0;
  Digest prev{};
  std::string event;
  uint64_t count = 0;
};

uint64_t number_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(json::string_view(key.data(), key.size()));
  if (value == nullptr) return 0;
  if (value->is_uint64()) return value->as_uint64();
  return value->is_int64() && value->as_int64() > 0 ? static_cast<uint64_t>(value->as_int64()) : 0;
}

std::string_view string_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(json::string_view(key.data(), key.size()));
  if (value == nullptr || !value->is_string()) return {};
  const json::string& text = value->as_string();
  return {text.data(), text.size()};
}

// Empty if this is not a line of the log.
std::optional<Head> head_of(std::string_view line) {
  boost::system::error_code error;
  const json::value parsed = json::parse(json::string_view(line.data(), line.size()), error);
  if (error || !parsed.is_object()) return std::nullopt;
  const json::object& object = parsed.as_object();
  Head head;
  head.sequence = number_of(object, "seq");
  head.event = string_of(object, "event");
  head.count = number_of(object, "count");
  const auto prev = parse_hex_digest(string_of(object, "prev"));
  if (head.sequence == 0 || !prev) return std::nullopt;
  head.prev = *prev;
  return head;
}

void put(json::object& line, std::string_view key, const std::string& value) {
  if (!value.empty()) line[json::string_view(key.data(), key.size())] = value;
}

}  // namespace

std::string append_line(ChainEnd& end, int64_t at_us, const AuditEvent& event) {
  json::object line;
  line["seq"] = ++end.sequence;
  line["prev"] = to_hex(end.hash);
  line["at_us"] = at_us;
  put(line, "event", event.event);
  put(line, "principal", event.principal);
  put(line, "address", event.address);
  put(line, "operation", event.operation);
  put(line, "object", event.object);
  put(line, "outcome", event.outcome);
  put(line, "detail", event.detail);
  if (event.count != 0) line["count"] = event.count;
  std::string text = json::serialize(line);
  end.hash = sha256(text);
  text += '\n';
  return text;
}

Result<void> ChainReader::take(std::string_view line) {
  const auto head = head_of(line);
  if (!head) {
    if (!torn_.empty()) return fail(Errc::data_loss, "this line is no entry");
    if (line.empty()) return fail(Errc::data_loss, "this line is empty");
    torn_ = line;  // the next line decides whether this was a crash
    return {};
  }
  if (!torn_.empty()) {
    const bool told = head->event == "resumed" && head->count == torn_.size();
    if (!told) return fail(Errc::data_loss, "the line before this one is no entry");
    torn_.clear();
  }
  if (begun_ || head->sequence == 1) {
    const Digest before = begun_ ? end_.hash : Digest{};
    if (head->sequence != end_.sequence + 1) {
      return fail(Errc::data_loss, "entry {} follows entry {}", head->sequence, end_.sequence);
    }
    if (head->prev != before) {
      return fail(Errc::data_loss,
                  "entry {} was written behind another entry {} than the one that is there",
                  head->sequence, end_.sequence);
    }
  }
  begun_ = true;
  ++lines_;
  end_ = {head->sequence, sha256(line)};
  return {};
}

Result<void> ChainReader::finish(std::string_view rest) const {
  if (!torn_.empty()) return fail(Errc::data_loss, "the last line is no entry");
  if (rest.empty()) return {};
  return fail(Errc::data_loss, "the last line is cut off after {} bytes", rest.size());
}

Result<void> read_chain(ChainReader& reader, std::string_view text) {
  uint64_t number = 1;
  for (size_t newline = text.find('\n'); newline != std::string_view::npos;
       newline = text.find('\n'), ++number) {
    const auto taken = reader.take(text.substr(0, newline));
    if (!taken) return fail(Errc::data_loss, "line {}: {}", number, taken.error().message);
    text.remove_prefix(newline + 1);
  }
  const auto finished = reader.finish(text);
  if (!finished) return fail(Errc::data_loss, "line {}: {}", number, finished.error().message);
  return {};
}

ChainTail tail_of(std::string_view text) {
  ChainTail tail;
  const size_t last = text.rfind('\n');
  tail.torn_bytes = last == std::string_view::npos ? text.size() : text.size() - last - 1;
  const std::string_view rest = text.substr(text.size() - tail.torn_bytes);
  if (const auto head = head_of(rest)) {
    return {{head->sequence, sha256(rest)}, 0, true};
  }
  text.remove_suffix(tail.torn_bytes);
  while (!text.empty()) {
    text.remove_suffix(1);  // its newline
    const size_t before = text.rfind('\n');
    const std::string_view line = before == std::string_view::npos ? text : text.substr(before + 1);
    if (const auto head = head_of(line)) {
      tail.end = {head->sequence, sha256(line)};
      break;
    }
    text.remove_suffix(line.size());
  }
  return tail;
}

}  // namespace cellar::security

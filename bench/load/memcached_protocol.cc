#include <charconv>
#include <deque>

#include "bench/load/protocol.h"

namespace cellar::bench {
namespace {

// The text protocol. Answers come in request order, so the ids in flight form a queue.
class MemcachedProtocol final : public Protocol {
 public:
  MemcachedProtocol(uint32_t fields, bool wants_values)
      : wants_values_(wants_values && fields == 1) {}

  void greet(std::string& out) override {
    ready_ = false;
    in_flight_.clear();
    out += "version\r\n";
  }
  bool ready() const override { return ready_; }
  bool can(Operation operation) const override { return operation != Operation::scan; }

  void encode(std::string& out, uint64_t id, const Request& request) override {
    in_flight_.push_back(id);
    if (reads(request.operation)) {
      out += "get ";
      out += request.key;
      out += "\r\n";
      return;
    }
    if (request.operation == Operation::remove) {
      out += "delete ";
      out += request.key;
      out += "\r\n";
      return;
    }
    size_t bytes = 0;
    for (const FieldValue& field : request.fields) bytes += field.value.size();
    out += "set ";
    out += request.key;
    out += " 0 ";
    out += std::to_string(life_s(request.life_us));
    out += ' ';
    out += std::to_string(bytes);
    out += "\r\n";
    for (const FieldValue& field : request.fields) out += field.value;
    out += "\r\n";
  }

  Result<size_t> parse(Bytes in, std::string&, ReplySink& sink) override {
    for (size_t consumed = 0;;) {
      const Bytes rest = in.substr(consumed);
      const size_t end = rest.find("\r\n");
      if (end == Bytes::npos) return consumed;
      const Bytes line = rest.substr(0, end);
      size_t size = end + 2;
      if (!ready_) {
        if (!line.starts_with("VERSION"))
          return fail(Errc::unavailable, "unexpected greeting of memcached: '{}'",
                      escape_bytes(line));
        ready_ = true;
        consumed += size;
        continue;
      }
      if (in_flight_.empty())
        return fail(Errc::internal, "an answer of memcached that no request waits for");
      const uint64_t id = in_flight_.front();
      Answer answer;
      if (line.starts_with("VALUE ")) {
        const size_t bytes = value_bytes(line);
        constexpr Bytes kTail = "\r\nEND\r\n";
        if (rest.size() < size + bytes + kTail.size()) return consumed;
        answer.rows = 1;
        if (wants_values_) sink.value(id, {}, "q", rest.substr(size, bytes));
        size += bytes + kTail.size();
      } else if (line != "STORED" && line != "END" && line != "DELETED" && line != "NOT_FOUND") {
        answer = {.ok = false, .error = line};
      }
      in_flight_.pop_front();
      sink.reply(id, answer);
      consumed += size;
    }
  }

 private:
  // Beyond 30 days memcached takes a number for a point in time.
  static uint64_t life_s(uint64_t life_us) {
    constexpr uint64_t kMonthS = 30 * 86'400;
    return life_us == 0 ? 0 : std::clamp<uint64_t>(life_us / 1'000'000, 1, kMonthS);
  }
  // "VALUE key flags bytes"
  static size_t value_bytes(Bytes line) {
    size_t bytes = 0;
    const size_t space = line.rfind(' ');
    std::from_chars(line.data() + space + 1, line.data() + line.size(), bytes);
    return bytes;
  }

  const bool wants_values_;
  bool ready_ = false;
  std::deque<uint64_t> in_flight_;
};

}  // namespace

std::unique_ptr<Protocol> make_memcached_protocol(uint32_t fields, bool wants_values) {
  return std::make_unique<MemcachedProtocol>(fields, wants_values);
}

}  // namespace cellar::bench

#include <charconv>
#include <deque>
#include <vector>

#include "bench/load/protocol.h"

namespace cellar::bench {
namespace {

constexpr size_t kMaxElements = 1 << 20;  // of an array in an answer

// One answer in RESP2. `elements` are the bulk strings of an array, or the one bulk string.
struct RespAnswer {
  size_t size = 0;  // in bytes; 0: incomplete
  char type = 0;
  Bytes line;
  std::vector<Bytes> elements;
};

// Reads the first line. False: incomplete.
bool read_line(Bytes in, RespAnswer& out, int64_t& number) {
  const size_t end = in.find("\r\n");
  if (end == Bytes::npos) return false;
  out.type = in[0];
  out.line = in.substr(0, end);
  out.size = end + 2;
  number = -1;
  std::from_chars(in.data() + 1, in.data() + end, number);
  return true;
}

// True if the bulk string that begins at out.size is complete; it is then an element, unless it is
// absent.
bool take_bulk(Bytes in, int64_t length, RespAnswer& out) {
  if (length < 0) return true;
  const auto bytes = static_cast<size_t>(length);
  if (in.size() < out.size + bytes + 2) return false;
  out.elements.push_back(in.substr(out.size, bytes));
  out.size += bytes + 2;
  return true;
}

Result<void> read_answer(Bytes in, RespAnswer& out) {
  out.size = 0;
  out.elements.clear();
  int64_t number = 0;
  if (!read_line(in, out, number)) return {};
  bool complete = true;
  if (out.type == '$') {
    complete = take_bulk(in, number, out);
  } else if (out.type == '*') {
    if (number > static_cast<int64_t>(kMaxElements))
      return fail(Errc::internal, "an answer of redis with {} elements", number);
    for (int64_t i = 0; i < number && complete; ++i) {
      RespAnswer element;
      int64_t length = 0;
      complete = read_line(in.substr(out.size), element, length);
      if (!complete) break;
      if (element.type != '$')
        return fail(Errc::internal, "unexpected answer of redis: '{}'", escape_bytes(in));
      out.size += element.size;
      complete = take_bulk(in, length, out);
    }
  } else if (out.type != '+' && out.type != '-' && out.type != ':') {
    return fail(Errc::internal, "unexpected answer of redis: '{}'", escape_bytes(in));
  }
  if (!complete) out.size = 0;
  return {};
}

// Answers come in request order, so the ids in flight form a queue.
class RedisProtocol final : public Protocol {
 public:
  RedisProtocol(uint32_t fields, bool wants_values)
      : is_hash_(fields > 1), wants_values_(wants_values) {}

  void greet(std::string& out) override {
    ready_ = false;
    in_flight_.clear();
    command(out, {"PING"});
  }
  bool ready() const override { return ready_; }
  bool can(Operation operation) const override { return operation != Operation::scan; }

  void encode(std::string& out, uint64_t id, const Request& request) override {
    const Bytes key = request.key;
    switch (request.operation) {
      case Operation::read:
      case Operation::modify:
        in_flight_.push_back({id, 1, true});
        return command(out, {is_hash_ ? Bytes("HGETALL") : Bytes("GET"), key});
      case Operation::remove:
        in_flight_.push_back({id, 1, false});
        return command(out, {"DEL", key});
      default:
        return is_hash_ ? set_hash(out, id, request) : set_string(out, id, request);
    }
  }

  Result<size_t> parse(Bytes in, std::string&, ReplySink& sink) override {
    for (size_t consumed = 0;;) {
      TRY_VOID(read_answer(in.substr(consumed), answer_));
      if (answer_.size == 0) return consumed;
      consumed += answer_.size;
      const bool ok = answer_.type != '-';
      if (!ready_) {
        if (!ok) return fail(Errc::unavailable, "{}", answer_.line);
        ready_ = true;
        continue;
      }
      if (in_flight_.empty())
        return fail(Errc::internal, "an answer of redis that no request waits for");
      take(ok, sink);
    }
  }

 private:
  struct Pending {
    uint64_t id = 0;
    int commands = 1;  // whose answers are due
    bool reads = false;
    bool failed = false;
  };

  void take(bool ok, ReplySink& sink) {
    Pending& pending = in_flight_.front();
    pending.failed = pending.failed || !ok;
    if (--pending.commands > 0) return;
    const Pending done = pending;
    in_flight_.pop_front();
    Answer answer{.ok = !done.failed};
    if (done.failed) answer.error = ok ? Bytes("a command of the request failed") : answer_.line;
    if (done.reads && ok) {
      answer.rows = answer_.elements.empty() ? 0 : 1;
      if (wants_values_) give_values(done.id, sink);
    }
    sink.reply(done.id, answer);
  }
  void give_values(uint64_t id, ReplySink& sink) const {
    const auto& elements = answer_.elements;
    if (!is_hash_ && !elements.empty()) sink.value(id, {}, "q", elements[0]);
    for (size_t i = 0; is_hash_ && i + 1 < elements.size(); i += 2)
      sink.value(id, {}, elements[i], elements[i + 1]);
  }

  void set_string(std::string& out, uint64_t id, const Request& request) {
    in_flight_.push_back({id, 1, false});
    const Bytes value = request.fields[0].value;
    if (request.life_us == 0) return command(out, {"SET", request.key, value});
    command(out, {"SET", request.key, value, "PX", std::to_string(request.life_us / 1000)});
  }
  void set_hash(std::string& out, uint64_t id, const Request& request) {
    in_flight_.push_back({id, request.life_us == 0 ? 1 : 2, false});
    out += fmt::format("*{}\r\n", 2 + 2 * request.fields.size());
    put_bulk(out, "HSET");
    put_bulk(out, request.key);
    for (const FieldValue& field : request.fields) {
      put_bulk(out, field.name);
      put_bulk(out, field.value);
    }
    if (request.life_us != 0)
      command(out, {"PEXPIRE", request.key, std::to_string(request.life_us / 1000)});
  }

  static void command(std::string& out, std::initializer_list<Bytes> words) {
    out += '*';
    out += std::to_string(words.size());
    out += "\r\n";
    for (Bytes word : words) put_bulk(out, word);
  }
  static void put_bulk(std::string& out, Bytes b) {
    out += '$';
    out += std::to_string(b.size());
    out += "\r\n";
    out += b;
    out += "\r\n";
  }

  const bool is_hash_;
  const bool wants_values_;
  bool ready_ = false;
  std::deque<Pending> in_flight_;
  RespAnswer answer_;
};

}  // namespace

std::unique_ptr<Protocol> make_redis_protocol(uint32_t fields, bool wants_values) {
  return std::make_unique<RedisProtocol>(fields, wants_values);
}

}  // namespace cellar::bench

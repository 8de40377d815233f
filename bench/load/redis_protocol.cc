#include <charconv>
#include <deque>

#include "bench/load/protocol.h"

namespace cellar::bench {
namespace {

// RESP2. Answers come in request order, so the ids in flight form a queue.
class RedisProtocol final : public Protocol {
 public:
  void encode_greeting(std::string& out) override {
    in_flight_.push_back(0);
    out += "*1\r\n$4\r\nPING\r\n";
  }
  int greetings() const override { return 1; }
  void encode_write(std::string& out, uint64_t id, Bytes key, Bytes value) override {
    in_flight_.push_back(id);
    out += "*3\r\n$3\r\nSET\r\n";
    put_bulk(out, key);
    put_bulk(out, value);
  }
  void encode_read(std::string& out, uint64_t id, Bytes key) override {
    in_flight_.push_back(id);
    out += "*2\r\n$3\r\nGET\r\n";
    put_bulk(out, key);
  }
  Result<size_t> parse(Bytes in, ReplySink& sink) override {
    size_t consumed = 0;
    while (true) {
      const Bytes rest = in.substr(consumed);
      const size_t line = rest.find("\r\n");
      if (line == Bytes::npos) return consumed;
      size_t size = line + 2;
      bool ok = true;
      switch (rest[0]) {
        case '+':
        case ':':
          break;
        case '-':
          ok = false;
          break;
        case '$': {
          int64_t length = -1;
          std::from_chars(rest.data() + 1, rest.data() + line, length);
          if (length >= 0) size += static_cast<size_t>(length) + 2;
          break;
        }
        default:
          return fail(Errc::internal, "unexpected answer of redis: '{}'", escape_bytes(rest));
      }
      if (rest.size() < size) return consumed;
      if (in_flight_.empty())
        return fail(Errc::internal, "an answer of redis that nobody waits for");
      const uint64_t id = in_flight_.front();
      in_flight_.pop_front();
      sink.reply(id, ok, ok ? Bytes() : rest.substr(0, line));
      consumed += size;
    }
  }

 private:
  static void put_bulk(std::string& out, Bytes b) {
    out += '$';
    out += std::to_string(b.size());
    out += "\r\n";
    out += b;
    out += "\r\n";
  }
  std::deque<uint64_t> in_flight_;
};

}  // namespace

std::unique_ptr<Protocol> make_redis_protocol() { return std::make_unique<RedisProtocol>(); }

}  // namespace cellar::bench

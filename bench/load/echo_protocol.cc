#include <algorithm>

#include "bench/echo/echo_frame.h"
#include "bench/load/protocol.h"

namespace cellar::bench {
namespace {

// A request has a header of 24 bytes, the key and the written values; an answer a header of 24
// bytes and the values that are read: the sizes of a plain binary protocol.
class EchoProtocol final : public Protocol {
 public:
  static constexpr uint32_t kHeaderBytes = 24;

  explicit EchoProtocol(const Workload& workload)
      : row_bytes_(static_cast<uint32_t>(workload.value_bytes.mean() * workload.fields)) {}

  void greet(std::string&) override {}
  bool ready() const override { return true; }
  bool can(Operation) const override { return true; }

  void encode(std::string& out, uint64_t id, const Request& request) override {
    uint32_t bytes = kHeaderBytes + static_cast<uint32_t>(request.key.size());
    uint32_t answer_bytes = kHeaderBytes;
    if (reads(request.operation)) {
      answer_bytes += row_bytes_ * std::max(1u, request.rows);
    } else {
      for (const FieldValue& field : request.fields)
        bytes += static_cast<uint32_t>(field.value.size());
    }
    const EchoHeader header{bytes, std::min(answer_bytes, kMaxEchoBytes), id};
    const size_t at = out.size();
    out.resize(at + bytes, 'x');
    std::memcpy(out.data() + at, &header, sizeof header);
  }

  Result<size_t> parse(Bytes in, std::string&, ReplySink& sink) override {
    size_t consumed = 0;
    while (in.size() - consumed >= sizeof(EchoHeader)) {
      const EchoHeader header = echo_header(in.data() + consumed);
      if (header.bytes < sizeof header || header.bytes > kMaxEchoBytes)
        return fail(Errc::internal, "the server is no cellar-bench-echo");
      if (in.size() - consumed < header.bytes) break;
      consumed += header.bytes;
      sink.reply(header.id, {.rows = 1});
    }
    return consumed;
  }

 private:
  const uint32_t row_bytes_;
};

}  // namespace

std::unique_ptr<Protocol> make_echo_protocol(const Workload& workload) {
  return std::make_unique<EchoProtocol>(workload);
}

}  // namespace cellar::bench

// AnswerDropper: a TCP proxy in front of a node that loses one answer. It forwards everything until
// the node has answered a request of the given operation; it drops that answer, runs `meanwhile`,
// and resets the connection: the client knows that its request was sent and does not know the
// outcome.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <thread>

#include "net/wire/frame.h"

namespace cellar::tests {

class AnswerDropper {
 public:
  // `meanwhile` runs once, on the proxy's thread, when the answer to the first request of `op` has
  // arrived.
  AnswerDropper(const std::string& node, uint16_t op, std::function<void()> meanwhile);
  ~AnswerDropper();
  AnswerDropper(const AnswerDropper&) = delete;
  AnswerDropper& operator=(const AnswerDropper&) = delete;

  std::string address() const;
  bool dropped() const { return dropped_; }
  // The number of forwarded requests of that operation, the first included.
  int requests() const { return requests_; }

 private:
  struct Line {
    int client = -1;
    int node = -1;
    wire::FrameReader sent{wire::kLargestFrameBytes};  // by the client
    bool greeted = false;
    bool loses_answer = false;
    bool over = false;
  };

  void run();
  void accept_one();
  bool is_awaited(uint16_t op) const;
  void pass_requests(Line& line);
  void pass_answers(Line& line);
  static void close(Line& line, bool reset);

  const uint16_t op_;
  const std::function<void()> meanwhile_;
  uint16_t node_port_ = 0;
  uint16_t port_ = 0;
  int listener_ = -1;
  std::list<Line> lines_;
  std::atomic<bool> dropped_ = false;
  std::atomic<int> requests_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace cellar::tests

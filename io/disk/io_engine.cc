#include "io/disk/io_engine.h"

#include <algorithm>

namespace cellar {

IoQueues::IoQueues(int in_flight)
    : depth_{in_flight, in_flight * 3 / 4, in_flight / 8, in_flight / 8} {}

void IoQueues::push(IoOp& op) {
  Queue& queue = queues_[static_cast<size_t>(op.io_class)];
  op.next = nullptr;
  op.generation = age_.begin();
  (queue.head == nullptr ? queue.head : queue.tail->next) = &op;
  queue.tail = &op;
}

void IoQueues::push_front(IoOp& op) {
  Queue& queue = queues_[static_cast<size_t>(op.io_class)];
  op.next = queue.head;
  op.generation = age_.begin();
  queue.head = &op;
  if (op.next == nullptr) queue.tail = &op;
}

bool IoQueues::may_start(size_t io_class) const {
  return queues_[io_class].head != nullptr && class_in_flight_[io_class] < depth_[io_class];
}

bool IoQueues::may_start() const {
  for (size_t i = 0; i < kClasses; ++i) {
    if (may_start(i)) return true;
  }
  return false;
}

bool IoQueues::empty() const {
  return std::all_of(queues_.begin(), queues_.end(),
                     [](const Queue& queue) { return queue.head == nullptr; });
}

IoOp* IoQueues::pop() {
  for (size_t i = 0; i < kClasses; ++i) {
    if (!may_start(i)) continue;
    IoOp* op = queues_[i].head;
    queues_[i].head = op->next;
    op->next = nullptr;
    ++in_flight_;
    ++class_in_flight_[i];
    return op;
  }
  return nullptr;
}

void IoQueues::finished(const IoOp& op) {
  age_.end(op.generation);
  --in_flight_;
  --class_in_flight_[static_cast<size_t>(op.io_class)];
}

}  // namespace cellar

#include "engine/write/waiting_write.h"

namespace cellar::engine {
namespace {

size_t text_bytes(const Write& write) {
  size_t size = write.mutation.row.size();
  for (const Mutation& op : write.mutation.mutations) {
    size += op.family.size() + op.qualifier.size() + op.value.size();
  }
  return size;
}

void put(std::string& bytes, Bytes& view) {
  const size_t at = bytes.size();
  bytes.append(view);
  view = Bytes(bytes.data() + at, view.size());  // the capacity is reserved
}

}  // namespace

size_t copied_bytes(const Write& write) {
  if (write.range) return write.range->start.size() + write.range->end.size();
  return text_bytes(write) + write.mutation.mutations.size() * sizeof(Mutation);
}

std::unique_ptr<WaitingWrite> copy_of(Write& write) {
  auto waiting = std::make_unique<WaitingWrite>();
  waiting->write = &write;
  if (write.range) {
    waiting->start = write.range->start;
    waiting->end = write.range->end;
    write.range = RangeDelete{waiting->start, waiting->end};
    return waiting;
  }
  waiting->bytes.reserve(text_bytes(write));
  put(waiting->bytes, write.mutation.row);
  waiting->mutations.assign(write.mutation.mutations.begin(), write.mutation.mutations.end());
  for (Mutation& op : waiting->mutations) {
    put(waiting->bytes, op.family);
    put(waiting->bytes, op.qualifier);
    put(waiting->bytes, op.value);
  }
  write.mutation.mutations = waiting->mutations;
  return waiting;
}

std::unique_ptr<WaitingWrite> waiting_of(ConditionalWrite& write) {
  auto waiting = std::make_unique<WaitingWrite>();
  waiting->conditional = &write;
  return waiting;
}

}  // namespace cellar::engine

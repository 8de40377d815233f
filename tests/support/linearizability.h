// LinearizabilityChecker: decides whether a history of concurrent operations is linearizable
// (Wing and Gong's search with Lowe's memory of configurations, as in Porcupine): whether each
// operation can be given an instant between its call and its return such that a sequential model
// allows all of them in that order.
//
// An operation whose outcome is unknown has no return: it may take effect at any later instant, or
// never. A model may be nondeterministic: a step returns every state that it allows.
//
// A history is divided by the caller: objects that do not interact, such as rows, are checked one
// by one.
//
//   struct Register {
//     struct Op { uint64_t call, ret; bool write; int value; };
//     using State = int;
//     std::vector<int> step(int state, const Op& op) const;  // empty: not allowed in this state
//     std::string key(int state) const;                      // equal states have equal keys
//     // Optional: whether the step changed nothing that another operation could notice, as a read.
//     bool passive(int before, const Op& op, int after) const;
//     // Optional: operations with a rank other than 0 occur in its order; those of one rank in
//     any. uint64_t rank(const Op& op) const;
//     // Optional: an operation without a return takes effect before any operation that is called
//     // after this position, or never.
//     uint64_t gone(const Op& op) const;
//     // Optional: whether the operation is tried before the others that may be next.
//     bool urgent(const Op& op) const;
//   };
//   Linearization found = LinearizabilityChecker<Register>(model).check(ops, 0);
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

namespace cellar::support {

// The return of an operation that was never answered.
inline constexpr uint64_t kNoReturn = UINT64_MAX;

struct Linearization {
  enum class Verdict : uint8_t {
    linearizable,
    violation,  // no order exists
    undecided,  // the search was ended by its bound
  };
  Verdict verdict = Verdict::linearizable;
  // The longest order found, as indices of the operations; of a linearizable history a whole one.
  std::vector<size_t> order;
  uint64_t steps = 0;  // of the model
};

template <class Model>
class LinearizabilityChecker {
 public:
  using Op = typename Model::Op;  // has `call` and `ret`: positions in the history, unique
  using State = typename Model::State;
  static constexpr uint64_t kMaxSteps = 100'000;

  // `model` must outlive it.
  explicit LinearizabilityChecker(const Model& model, uint64_t max_steps = kMaxSteps)
      : model_(model), max_steps_(max_steps) {}

  Linearization check(const std::vector<Op>& ops, State initial) const {
    Search search(model_, ops, max_steps_);
    return search.run(std::move(initial));
  }

 private:
  class Search {
   public:
    Search(const Model& model, const std::vector<Op>& ops, uint64_t max_steps)
        : model_(model), ops_(ops), max_steps_(max_steps), done_(ops.size()) {
      for (size_t i = 0; i < ops.size(); ++i) {
        by_call_.push_back(i);
        answered_ += ops[i].ret != kNoReturn ? 1 : 0;
      }
      std::sort(by_call_.begin(), by_call_.end(),
                [&](size_t a, size_t b) { return ops[a].call < ops[b].call; });
      for (const size_t i : by_call_) {
        if (rank(i) != 0) by_rank_.push_back(i);
      }
      std::sort(by_rank_.begin(), by_rank_.end(),
                [&](size_t a, size_t b) { return rank(a) < rank(b); });
    }

    Linearization run(State initial) {
      push(std::move(initial), kNone);
      while (!frames_.empty()) {
        if (answered_ == 0) return finish(Linearization::Verdict::linearizable);
        if (found_.steps > max_steps_) return finish(Linearization::Verdict::undecided);
        if (!advance()) pop();
      }
      found_.verdict = Linearization::Verdict::violation;
      return std::move(found_);
    }

   private:
    static constexpr size_t kNone = SIZE_MAX;
    // A configuration on the path: a state, and what is still to be tried from it.
    struct Frame {
      State state;
      size_t op;  // that led to it
      std::vector<size_t> candidates;
      size_t next = 0;
      std::vector<State> successors;  // of the candidate before `next`
    };

    Linearization finish(Linearization::Verdict verdict) {
      found_.verdict = verdict;
      if (verdict == Linearization::Verdict::linearizable) found_.order = order_;
      return std::move(found_);
    }

    uint64_t rank(size_t op) const {
      if constexpr (requires { model_.rank(ops_[op]); }) return model_.rank(ops_[op]);
      return 0;
    }

    bool is_urgent(size_t op) const {
      if constexpr (requires { model_.urgent(ops_[op]); }) return model_.urgent(ops_[op]);
      return false;
    }

    // Whether an operation without a return has had its last chance.
    bool is_gone(size_t op, uint64_t latest_call) const {
      if constexpr (requires { model_.gone(ops_[op]); })
        return ops_[op].ret == kNoReturn && model_.gone(ops_[op]) < latest_call;
      return false;
    }
    // Of the operations in the order so far.
    uint64_t latest_call() const {
      const auto last =
          std::find_if(by_call_.rbegin(), by_call_.rend(), [&](size_t i) { return done_[i]; });
      return last == by_call_.rend() ? 0 : ops_[*last].call;
    }

    // The operations that may be next: called before the first return among those left, and of
    // those with a rank the lowest. Earliest return first, so that the unanswered ones are tried
    // last.
    std::vector<size_t> candidates() const {
      uint64_t first_return = kNoReturn;
      const uint64_t latest = latest_call();
      const auto lowest =
          std::find_if(by_rank_.begin(), by_rank_.end(), [&](size_t i) { return !done_[i]; });
      std::vector<size_t> out;
      for (const size_t i : by_call_) {
        if (done_[i] || is_gone(i, latest)) continue;
        if (ops_[i].call > first_return) break;
        first_return = std::min(first_return, ops_[i].ret);
        if (rank(i) == 0 || rank(i) == rank(*lowest)) out.push_back(i);
      }
      std::sort(out.begin(), out.end(), [&](size_t a, size_t b) {
        return std::tuple(!is_urgent(a), ops_[a].ret, ops_[a].call) <
               std::tuple(!is_urgent(b), ops_[b].ret, ops_[b].call);
      });
      return out;
    }

    void push(State state, size_t op) {
      std::vector<size_t> next = candidates();
      if constexpr (requires { model_.passive(state, ops_[0], state); }) {
        for (const size_t i : next) {
          if (!takes_nothing(state, ops_[i])) continue;
          next = {i};
          break;
        }
      }
      frames_.push_back({std::move(state), op, std::move(next), 0, {}});
    }

    // Whether the operation may come next and excludes no later choice: no other need be tried.
    bool takes_nothing(const State& state, const Op& op) {
      if (op.ret == kNoReturn) return false;
      ++found_.steps;
      const std::vector<State> after = model_.step(state, op);
      return after.size() == 1 && model_.passive(state, op, after.front());
    }

    void pop() {
      const size_t op = frames_.back().op;
      frames_.pop_back();
      if (op == kNone) return;
      mark(op, false);
      order_.pop_back();
    }

    void mark(size_t op, bool done) {
      done_[op] = done;
      if (ops_[op].ret == kNoReturn) return;
      if (done) --answered_;
      if (!done) ++answered_;
    }

    // Tries the next untried successor. False: there is none.
    bool advance() {
      for (;;) {
        Frame& frame = frames_.back();
        if (frame.successors.empty()) {
          if (frame.next == frame.candidates.size()) return false;
          ++found_.steps;
          frame.successors = model_.step(frame.state, ops_[frame.candidates[frame.next++]]);
          std::reverse(frame.successors.begin(), frame.successors.end());
          continue;
        }
        const size_t op = frame.candidates[frame.next - 1];
        State state = std::move(frame.successors.back());
        frame.successors.pop_back();
        mark(op, true);
        if (!seen_.insert(configuration(state)).second) {
          mark(op, false);
          continue;
        }
        order_.push_back(op);
        if (order_.size() > found_.order.size()) found_.order = order_;
        push(std::move(state), op);
        return true;
      }
    }

    std::string configuration(const State& state) const {
      std::string key((done_.size() + 7) / 8, '\0');
      const uint64_t latest = latest_call();
      for (size_t i = 0; i < done_.size(); ++i) {
        if (done_[i] || is_gone(i, latest))
          key[i / 8] = static_cast<char>(key[i / 8] | (1 << (i % 8)));
      }
      return key + model_.key(state);
    }

    const Model& model_;
    const std::vector<Op>& ops_;
    const uint64_t max_steps_;
    std::vector<size_t> by_call_;
    std::vector<size_t> by_rank_;
    std::vector<bool> done_;
    size_t answered_ = 0;  // with a return, not done
    std::vector<Frame> frames_;
    std::vector<size_t> order_;
    std::unordered_set<std::string> seen_;
    Linearization found_;
  };

  const Model& model_;
  const uint64_t max_steps_;
};

}  // namespace cellar::support

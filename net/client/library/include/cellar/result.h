// Result<T>: a value or an Error. No function of the library throws.
#pragma once

#include <cellar/export.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace cellar {
CELLAR_VERSIONED {
  // The numbers of gRPC's status codes.
  enum class Code : std::uint8_t {
    ok = 0,
    cancelled = 1,
    unknown = 2,
    invalid_argument = 3,
    deadline_exceeded = 4,
    not_found = 5,
    already_exists = 6,
    permission_denied = 7,
    resource_exhausted = 8,
    failed_precondition = 9,
    aborted = 10,
    out_of_range = 11,
    unimplemented = 12,
    internal = 13,
    unavailable = 14,
    data_loss = 15,
    unauthenticated = 16,
  };

  // "NOT_FOUND"; "UNKNOWN" for a number without a name.
  CELLAR_API const char* name_of(Code code);

  // Whether a failed request has had an effect.
  enum class Applied : std::uint8_t { not_applied = 0, maybe_applied = 1, applied = 2 };

  struct Error {
    Code code = Code::unknown;
    std::string message;                     // a sentence for people
    Applied applied = Applied::not_applied;  // not_applied only if that is certain
    std::uint32_t retry_after_ms = 0;        // when a retry can help; 0: now, or it cannot
  };

  // REQUIRES for value(), * and ->: ok(). REQUIRES for error(): not ok(). A violation aborts.
  template <class T>
  class [[nodiscard]] Result {
   public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }
    T& value() { return *checked(std::get_if<0>(&state_)); }
    const T& value() const { return *checked(std::get_if<0>(&state_)); }
    T& operator*() { return value(); }
    const T& operator*() const { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    const Error& error() const { return *checked(std::get_if<1>(&state_)); }

   private:
    template <class P>
    static P* checked(P* part) {
      if (part == nullptr) std::abort();
      return part;
    }
    std::variant<T, Error> state_;
  };

  template <>
  class [[nodiscard]] Result<void> {
   public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    bool ok() const { return !error_.has_value(); }
    explicit operator bool() const { return ok(); }
    const Error& error() const {
      if (!error_) std::abort();
      return *error_;
    }

   private:
    std::optional<Error> error_;
  };

}  // namespace v0
}  // namespace cellar

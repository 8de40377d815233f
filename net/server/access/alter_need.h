// The roles that an AlterTable or AlterIndex request requires, which depend on the fields that it
// sets.
#pragma once

#include "net/security/authorizer.h"

namespace cellar::server {

// For changes of storage and families, of expiry, and of both.
inline constexpr security::Need kAlterSchema{{security::Role::schema}};
inline constexpr security::Need kAlterRetention{{security::Role::retention}};
inline constexpr security::Need kAlterTable{{security::Role::schema, security::Role::retention}};

// kAlterTable if the body is malformed, sets nothing, or sets a field that is not known here.
security::Need alter_need_of(Bytes body);
// The same for an AlterIndex request: an own age decides what is found, and the answer to a tighter
// rule decides which rules can be set.
security::Need alter_index_need_of(Bytes body);

}  // namespace cellar::server

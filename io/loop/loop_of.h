// The loop of an executor, for objects that get a Runtime and need a hook.
#pragma once

#include "io/loop/loop.h"

namespace cellar {

// REQUIRES: the executor belongs to a Loop.
Loop& loop_of(ShardExecutor executor);

}  // namespace cellar

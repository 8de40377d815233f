// io/precompiled.h, and the test framework, parsed once for all tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/precompiled.h"

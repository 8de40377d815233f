// The C++ client of Cellar.
#pragma once

#include <cellar/client.h>
#include <cellar/data.h>
#include <cellar/indexes.h>
#include <cellar/result.h>
#include <cellar/tables.h>

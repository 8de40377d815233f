// A report of results as one HTML file without references to other files: plots as SVG, in light
// and dark.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

namespace cellar::bench {

// Results as json_report() makes them. Missing fields are left out.
std::string html_report(const std::vector<boost::json::object>& results);

}  // namespace cellar::bench

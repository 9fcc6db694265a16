// Standard input, output and error of the program.
#pragma once

namespace cupilot::cli {

// Opens /dev/null where one is closed: a file opened later would get its number, and what is
// printed there.
void open_standard_streams();

}  // namespace cupilot::cli

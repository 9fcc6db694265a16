#include "backend/worker/roles.hpp"

int main(int argc, char** argv) { return cupilot::worker_main(argc, argv); }

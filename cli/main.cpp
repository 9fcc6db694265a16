// Replaced by the program.
int main() { return 0; }

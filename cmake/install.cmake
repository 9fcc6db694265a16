# Filled by the packaging work: targets, headers and the package file.

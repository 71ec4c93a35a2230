// SwiftPM wants a source file; there is nothing to compile.
#include "CLocalAuthentication.h"

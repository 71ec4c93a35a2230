#include <nettle/arctwo.h>
#include <nettle/des.h>

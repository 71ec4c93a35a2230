#include <nettle/arctwo.h>
#include <nettle/des.h>
#include <nettle/sha2.h>

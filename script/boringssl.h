// What most files of BoringSSL include: script/cc compiles it once, because the same headers are two thirds of the time of each file.
#if __has_include(<CCryptoBoringSSL_asn1.h>)
#include <CCryptoBoringSSL_asn1.h>
#endif
#if __has_include(<CCryptoBoringSSL_asn1t.h>)
#include <CCryptoBoringSSL_asn1t.h>
#endif
#if __has_include(<CCryptoBoringSSL_bio.h>)
#include <CCryptoBoringSSL_bio.h>
#endif
#if __has_include(<CCryptoBoringSSL_bn.h>)
#include <CCryptoBoringSSL_bn.h>
#endif
#if __has_include(<CCryptoBoringSSL_bytestring.h>)
#include <CCryptoBoringSSL_bytestring.h>
#endif
#if __has_include(<CCryptoBoringSSL_cipher.h>)
#include <CCryptoBoringSSL_cipher.h>
#endif
#if __has_include(<CCryptoBoringSSL_crypto.h>)
#include <CCryptoBoringSSL_crypto.h>
#endif
#if __has_include(<CCryptoBoringSSL_digest.h>)
#include <CCryptoBoringSSL_digest.h>
#endif
#if __has_include(<CCryptoBoringSSL_ec.h>)
#include <CCryptoBoringSSL_ec.h>
#endif
#if __has_include(<CCryptoBoringSSL_ec_key.h>)
#include <CCryptoBoringSSL_ec_key.h>
#endif
#if __has_include(<CCryptoBoringSSL_err.h>)
#include <CCryptoBoringSSL_err.h>
#endif
#if __has_include(<CCryptoBoringSSL_evp.h>)
#include <CCryptoBoringSSL_evp.h>
#endif
#if __has_include(<CCryptoBoringSSL_mem.h>)
#include <CCryptoBoringSSL_mem.h>
#endif
#if __has_include(<CCryptoBoringSSL_obj.h>)
#include <CCryptoBoringSSL_obj.h>
#endif
#if __has_include(<CCryptoBoringSSL_pem.h>)
#include <CCryptoBoringSSL_pem.h>
#endif
#if __has_include(<CCryptoBoringSSL_rsa.h>)
#include <CCryptoBoringSSL_rsa.h>
#endif
#if __has_include(<CCryptoBoringSSL_span.h>)
#include <CCryptoBoringSSL_span.h>
#endif
#if __has_include(<CCryptoBoringSSL_stack.h>)
#include <CCryptoBoringSSL_stack.h>
#endif
#if __has_include(<CCryptoBoringSSL_thread.h>)
#include <CCryptoBoringSSL_thread.h>
#endif
#if __has_include(<CCryptoBoringSSL_x509.h>)
#include <CCryptoBoringSSL_x509.h>
#endif
#include <algorithm>
#include <array>
#include <assert.h>
#include <atomic>
#include <cstdint>
#include <ctype.h>
#include <errno.h>
#include <immintrin.h>
#include <initializer_list>
#include <inttypes.h>
#include <iterator>
#include <limits.h>
#include <limits>
#include <memory>
#include <new>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string_view>
#include <time.h>
#include <type_traits>
#include <utility>

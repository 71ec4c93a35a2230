internal import Crypto
internal import TouchstoneDevice

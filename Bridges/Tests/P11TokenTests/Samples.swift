/// What a test reads.
enum Samples {
    /// A certificate for a key of P-256 that nobody has, by itself.
    static let certificate =
        "MIIBcTCCARegAwIBAgIUcluUaI330oB/jJBo2VS2RXnRaQowCgYIKoZIzj0EAwIwDjEMMAoGA1UEAwwDQW5uMB4XDTI2MTEyNzEw"
        + "MDI1MloXDTM2MTEyNDEwMDI1MlowDjEMMAoGA1UEAwwDQW5uMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEt1FZD55BUN4KynSn"
        + "nblOGJGcklXXeNI05kXt5Gde/9yZJgermQVCLPCpRM14gr9P3DK1P5MtvRecGCC5eVG7naNTMFEwHQYDVR0OBBYEFCQqBPAnTIiO"
        + "Fu/0TkI1q0lKstb+MB8GA1UdIwQYMBaAFCQqBPAnTIiOFu/0TkI1q0lKstb+MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwID"
        + "SAAwRQIgIXbJ5PNfSQkVyRiAMBhSOn6s+gyzCS/lqwhgXkMxBh0CIQDQ0iixQlcv+mz4lBT/EQBmhiGbn4qqHyRG26EQHFwfHQ=="
}

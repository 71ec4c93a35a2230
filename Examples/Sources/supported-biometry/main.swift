import SupportedBiometry

let biometry = SupportedBiometry.current
print("\(biometry.name ?? "no biometry"): \(biometry.readiness.map { "\($0)" } ?? "none")")

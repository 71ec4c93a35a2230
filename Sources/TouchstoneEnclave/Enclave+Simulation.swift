import TouchstoneCore

/// What is done to a simulated device beside presenting fingers.
extension Enclave {
    /// Unplugs the sensor, or plugs it in: an evaluation that waits for it goes on without.
    package mutating func setSensorConnected(_ isConnected: Bool, now: Double) throws(Refused) -> [EnclaveEvent] {
        guard sensor.status != nil else { throw .init(.noSensor) }
        sensor.report(isConnected ? nil : .noReader)
        return biometryEnded(now: now)
    }
}

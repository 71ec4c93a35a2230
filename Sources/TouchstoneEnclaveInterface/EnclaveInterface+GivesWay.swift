import TouchstoneCore

// What apps do with items and keys comes as fast as they like. So it waits for calls about prompts, sensors and the device (DEC-579).
// `RecordItems` does not: while it is under way, no app writes.

extension EnclaveInterface.UnwrapKeys {
    package static var givesWay: Bool { true }
}

extension EnclaveInterface.WrapKey {
    package static var givesWay: Bool { true }
}

extension EnclaveInterface.Sign {
    package static var givesWay: Bool { true }
}

extension EnclaveInterface.SignMessage {
    package static var givesWay: Bool { true }
}

extension EnclaveInterface.ExchangeKeys {
    package static var givesWay: Bool { true }
}

extension EnclaveInterface.Decapsulate {
    package static var givesWay: Bool { true }
}

extension EnclaveInterface.CreateKey {
    package static var givesWay: Bool { true }
}

extension EnclaveInterface.InspectKey {
    package static var givesWay: Bool { true }
}

extension EnclaveInterface.SealRecords {
    package static var givesWay: Bool { true }
}

extension EnclaveInterface.OpenRecords {
    package static var givesWay: Bool { true }
}

package import TouchstoneCore

/// A method that apps call as fast as they like, for items and keys: it waits for calls about prompts, sensors and the device (DEC-579).
///
/// `RecordItems` is not one. While it is under way, no app writes.
package protocol GivesWay: VarlinkMethod {}

extension GivesWay {
    package static var givesWay: Bool { true }
}

extension EnclaveInterface.UnwrapKeys: GivesWay {}
extension EnclaveInterface.WrapKey: GivesWay {}
extension EnclaveInterface.Sign: GivesWay {}
extension EnclaveInterface.SignMessage: GivesWay {}
extension EnclaveInterface.ExchangeKeys: GivesWay {}
extension EnclaveInterface.Decapsulate: GivesWay {}
extension EnclaveInterface.CreateKey: GivesWay {}
extension EnclaveInterface.InspectKey: GivesWay {}
extension EnclaveInterface.SealRecords: GivesWay {}
extension EnclaveInterface.OpenRecords: GivesWay {}

package import Foundation

/// What only a simulated device's enclave does: every one of these answers `NotSimulated` elsewhere.
extension EnclaveInterface {
    package enum SetSensorConnected: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.SetSensorConnected"
        package typealias Parameters = DeviceInterface.SetSensorConnected.Parameters
        package typealias Reply = Empty
    }

    package enum AdvanceClock: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.AdvanceClock"
        package typealias Parameters = DeviceInterface.AdvanceClock.Parameters
        package typealias Reply = Empty
    }

    /// Where each class key is; the keys themselves stay.
    package enum InspectClassKeys: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.InspectClassKeys"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            /// By the code of the class.
            package var keys: [String: InspectorInterface.ClassKeyState]
            package var wasUnlockedSinceBoot: Bool
            package init(keys: [String: InspectorInterface.ClassKeyState], wasUnlockedSinceBoot: Bool) {
                self.keys = keys
                self.wasUnlockedSinceBoot = wasUnlockedSinceBoot
            }
        }
    }

    /// Whether items and private keys could be used now; opens none and asks nobody.
    package enum InspectItems: VarlinkMethod {
        package static let name = "io.touchstone.Enclave.InspectItems"
        package struct Parameters: Codable, Sendable {
            package var items: [WrappedItem]
            /// As `CreateKey` gave them.
            package var privateKeys: [Data]
            package init(items: [WrappedItem], privateKeys: [Data]) {
                self.items = items
                self.privateKeys = privateKeys
            }
        }
        package struct Reply: Codable, Sendable {
            package var items: [Prospect]
            package var privateKeys: [Prospect]
            package init(items: [Prospect], privateKeys: [Prospect]) {
                self.items = items
                self.privateKeys = privateKeys
            }
        }
    }

    package struct Prospect: Codable, Sendable {
        package var availability: InspectorInterface.Availability
        package var obstacle: AuthenticationFailure?
        package init(_ availability: InspectorInterface.Availability, obstacle: AuthenticationFailure? = nil) {
            self.availability = availability
            self.obstacle = obstacle
        }
    }
}

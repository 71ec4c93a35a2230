public import Foundation
internal import TouchstoneCore
import TouchstoneInterfaces

extension LAEnvironment {
    /// What the owner could be asked for at one moment.
    ///
    /// > Concurrency: Sendable as Apple's is.
    public final class State: NSObject, NSCopying, Sendable {
        /// The sensor; nil if there is none.
        public let biometry: MechanismBiometry?
        /// The passcode, set or not; nil without a device.
        public let userPassword: MechanismUserPassword?
        /// The companions that are paired: none.
        public let companions: [MechanismCompanion] = []

        private let environment: AuthenticationInterface.Environment?

        /// Nil stands for no device.
        init(_ environment: AuthenticationInterface.Environment?) {
            self.environment = environment
            biometry = environment.flatMap(MechanismBiometry.init)
            userPassword = environment.map(MechanismUserPassword.init)
        }

        /// All of them, in no particular order.
        public var allMechanisms: [Mechanism] {
            [biometry, userPassword].compactMap { $0 } + companions
        }

        /// A copy: itself, as it never changes.
        ///
        /// - Parameter zone: Disregarded.
        /// - Returns: This state.
        public func copy(with zone: NSZone? = nil) -> Any { self }

        /// Whether another state says the same.
        ///
        /// - Parameter object: What to compare with.
        /// - Returns: Whether it is a state in which nothing differs.
        public override func isEqual(_ object: Any?) -> Bool {
            (object as? State)?.environment == environment
        }

        /// The hash of what it says.
        public override var hash: Int { environment.hashValue }
    }
}

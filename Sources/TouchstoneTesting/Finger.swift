import TouchstoneCore

extension SimulatedDevice {
    /// A finger or a face, by the name under which it is enrolled: the names of `touchstone device enroll`.
    ///
    /// Fingers have numbers too. They count from 1, in the order in which ``SimulatedDevice/enrollFinger()`` takes them:
    /// `right-index`, `left-index`, `right-thumb`, `left-thumb`, `right-middle`; faces are `my-face` and `other-face`.
    public struct Finger: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        private enum Choice: Hashable {
            case number(Int)
            case name(String)
        }

        private let choice: Choice

        /// The finger or face of this name.
        ///
        /// - Parameter name: A name under which a finger or face is enrolled, such as `right-index`.
        public init(_ name: String) { choice = .name(name) }

        /// The finger or face of this name.
        ///
        /// - Parameter value: A name under which a finger or face is enrolled, such as `right-index`.
        public init(stringLiteral value: String) { self.init(value) }

        init(number: Int) { choice = .number(number) }

        /// Its name, or its number.
        public var description: String {
            switch choice {
            case .name(let name): name
            case .number(let number): "\(number)"
            }
        }

        /// The index finger of the right hand: number 1.
        public static let rightIndex: Finger = "right-index"
        /// The index finger of the left hand: number 2.
        public static let leftIndex: Finger = "left-index"
        /// The thumb of the right hand: number 3.
        public static let rightThumb: Finger = "right-thumb"
        /// The thumb of the left hand: number 4.
        public static let leftThumb: Finger = "left-thumb"
        /// The middle finger of the right hand: number 5.
        public static let rightMiddle: Finger = "right-middle"
        /// The middle finger of the left hand.
        public static let leftMiddle: Finger = "left-middle"
        /// The ring finger of the right hand.
        public static let rightRing: Finger = "right-ring"
        /// The ring finger of the left hand.
        public static let leftRing: Finger = "left-ring"
        /// The little finger of the right hand.
        public static let rightLittle: Finger = "right-little"
        /// The little finger of the left hand.
        public static let leftLittle: Finger = "left-little"

        private static let fingers: [Finger] = [
            rightIndex, leftIndex, rightThumb, leftThumb, rightMiddle, leftMiddle, rightRing, leftRing, rightLittle,
            leftLittle,
        ]
        private static let faces: [Finger] = ["my-face", "other-face"]

        /// Its name on a device with this sensor; for a number that is no finger's a name that nobody has.
        func name(on biometry: BiometryType) -> String {
            switch choice {
            case .name(let name): return name
            case .number(let number):
                let known = biometry == .faceID ? Self.faces : Self.fingers
                return known.indices.contains(number - 1)
                    ? known[number - 1].name(on: biometry) : "\(biometry.sample) \(number)"
            }
        }

        /// As a line of a test has it; nil where only the name is of use.
        private static func number(of name: String, on biometry: BiometryType) -> Int? {
            (biometry == .faceID ? faces : fingers).firstIndex(of: Finger(name)).map { $0 + 1 }
        }

        /// Says that a finger is not enrolled, and what to write instead.
        static func notEnrolled(_ name: String, among enrolled: [String], on biometry: BiometryType) -> String {
            let list = enrolled.map { name in
                number(of: name, on: biometry).map { "\(name) (number \($0))" } ?? name
            }
            return "\(name) is not enrolled. Enrolled: \(list.joined(separator: ", ")). Numbers count from 1; "
                + "device.present(.match) presents one that is enrolled, device.present(.nonMatch) one that is not."
        }

        /// The same if nothing is enrolled.
        static func noneEnrolled(on biometry: BiometryType) -> String {
            "No \(biometry.sample) is enrolled. Enrol one with device.enrollFinger(), or with fingers: 1 where the device is made."
        }
    }
}

extension BiometryType {
    /// What the sensor looks at.
    var sample: String { self == .faceID ? "face" : "finger" }
}
